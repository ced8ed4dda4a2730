import { api } from "../../lib/api.js";
import { untilAnswered } from "../../lib/attempts.js";
import { useCallback, useEffect, useState } from "../../lib/preact.js";

// Runs of the session that are read at a time.
const PAGE = 10;

function merged(before, found) {
  const known = new Map(before.map((run) => [run.id, run]));
  for (const run of found) {
    const now = known.get(run.id);
    if (!now || now.last_event <= run.last_event) known.set(run.id, run);
  }
  return [...known.values()].sort((one, other) => one.created_at.localeCompare(other.created_at));
}

// The runs of a session, oldest first, the newest few of them: `{runs, error, loading, earlier, reload, put}`. `earlier()`
// reads more, and is null if there are none; `put(run)` takes a run as it is now.
export function useSession(session) {
  const [runs, setRuns] = useState([]);
  const [cursor, setCursor] = useState(null);
  const [error, setError] = useState(null);
  const [loading, setLoading] = useState(Boolean(session));

  const put = useCallback((run) => setRuns((before) => merged(before, [run])), []);
  const read = useCallback(
    async (at, signal) => {
      setLoading(true);
      const failed = (problem) => {
        if (signal?.aborted) return;
        setError(problem);
        setLoading(false);
      };
      try {
        const ask = () => api.get("v1/runs", { session, limit: PAGE, cursor: at }, { signal });
        // Without a signal a person has asked, and sees to another attempt.
        const page = await (signal ? untilAnswered(ask, { signal, onProblem: failed }) : ask());
        setRuns((before) => merged(before, page.items));
        setCursor(page.next_cursor);
        setError(null);
        setLoading(false);
      } catch (problem) {
        failed(problem);
      }
    },
    [session],
  );
  useEffect(() => {
    if (!session) return undefined;
    const aborting = new AbortController();
    read(null, aborting.signal);
    return () => aborting.abort();
  }, [session]);
  return { runs, error, loading, earlier: cursor ? () => read(cursor) : null, reload: () => read(null), put };
}
