import { useKeys } from "./keys.js";
import { useEffect, useRef, useState } from "./preact.js";

// Moving in a list by keyboard: `j` and `k`, Enter opens; `more` are further shortcuts, whose `run` gets the index that
// is marked. Returns that index, or null, and its setter.
export function useListKeys({ length, noun, onOpen, more = [] }) {
  const [active, setActive] = useState(null);
  // Keys may be pressed faster than effects run, so what they do is looked up as of the last render.
  const latest = useRef({});
  latest.current = { active, length, onOpen, more };
  useEffect(() => {
    if (active !== null && active >= length) setActive(length ? length - 1 : null);
  }, [length]);
  const move = (step) => () => {
    const last = latest.current.length - 1;
    if (last >= 0) setActive((before) => (before === null ? 0 : Math.max(0, Math.min(last, before + step))));
  };
  const withActive = (doing) => () => latest.current.active !== null && doing(latest.current)(latest.current.active);
  useKeys(
    [
      { keys: ["j"], does: `Next ${noun}`, run: move(1) },
      { keys: ["k"], does: `Previous ${noun}`, run: move(-1) },
      { keys: ["Enter"], does: `Open the ${noun}`, run: withActive((now) => now.onOpen) },
      ...more.map((one, index) => ({ ...one, run: withActive((now) => now.more[index].run) })),
    ],
    [more.map((one) => one.keys).join()],
  );
  return [active, setActive];
}
