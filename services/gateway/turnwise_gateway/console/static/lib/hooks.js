import { useCallback, useEffect, useRef, useState } from "./preact.js";
import { untilAnswered } from "./attempts.js";
import { poll } from "./live.js";

const NOTHING_YET = { data: null, error: null, loading: true };

// Data from `fn({signal})`, asked for again when `deps` change, while the server is away, and `every` so many seconds if
// that is given. While new data is under way the old is kept, unless it is `about` another thing; data of older `deps`
// never replaces that of newer ones.
export function useData(fn, deps = [], { every = null, about = null } = {}) {
  const [state, setState] = useState({ ...NOTHING_YET, about });
  const latest = useRef(fn);
  latest.current = fn;
  const load = useRef(async () => {});

  useEffect(() => {
    const aborting = new AbortController();
    const { signal } = aborting;
    setState((before) => (before.about === about ? { ...before, loading: true } : { ...NOTHING_YET, about }));
    const failed = (error) => signal.aborted || setState((before) => ({ ...before, error, loading: false }));
    const ask = () => latest.current({ signal });
    load.current = async () => {
      try {
        const data = await (every ? ask() : untilAnswered(ask, { signal, onProblem: failed }));
        if (!signal.aborted) setState({ data, error: null, loading: false, about });
      } catch (error) {
        failed(error);
      }
    };
    const stop = every ? poll(() => load.current(), every) : void load.current();
    return () => {
      aborting.abort();
      stop?.();
    };
  }, [...deps, about, every]);

  const reload = useCallback(() => load.current(), []);
  return { ...(state.about === about ? state : NOTHING_YET), reload };
}

// The time, anew every so many seconds: for what says how long ago something was.
export function useNow(seconds = 10) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
  return now;
}

// A value once it has stayed the same for so long: for what a person types.
export function useSettled(value, ms = 250) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

// Whether the screen is narrow; the same width as in the styles.
export function useNarrow() {
  const query = "(max-width: 719px)";
  const [narrow, setNarrow] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const follow = () => setNarrow(media.matches);
    media.addEventListener("change", follow);
    return () => media.removeEventListener("change", follow);
  }, []);
  return narrow;
}
