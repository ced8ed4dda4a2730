import { api } from "./api.js";
import { untilAnswered } from "./attempts.js";
import { useCallback, useEffect, useRef, useState } from "./preact.js";

const BEFORE = { items: [], cursor: null, error: null, loading: true };

// A list of the API, page by page: `more()` adds the next one while `hasMore`, `reload()` begins again. `params` are further
// ones of the request; they are read when `path` or `deps` change.
export function usePaged(path, { limit = 50, params = {}, deps = [] } = {}) {
  const [state, setState] = useState(BEFORE);
  const asking = useRef(null);
  const further = useRef(params);
  further.current = params;

  const load = useCallback(
    async (cursor) => {
      asking.current?.abort();
      const aborting = new AbortController();
      asking.current = aborting;
      const { signal } = aborting;
      const failed = (error) => signal.aborted || setState((before) => ({ ...before, error, loading: false }));
      setState((before) => ({ ...before, loading: true }));
      try {
        const ask = () => api.get(path, { ...further.current, limit, cursor }, { signal });
        const page = await untilAnswered(ask, { signal, onProblem: failed });
        setState((before) => ({ items: cursor ? [...before.items, ...page.items] : page.items, cursor: page.next_cursor, error: null, loading: false }));
      } catch (error) {
        failed(error);
      }
    },
    [path, limit],
  );

  useEffect(() => {
    setState(BEFORE);
    void load(null);
    return () => asking.current?.abort();
  }, [load, ...deps]);

  return { ...state, hasMore: state.cursor !== null, more: () => load(state.cursor), reload: () => load(null) };
}
