import { useKeys } from "./keys.js";
import { useRef, useState } from "./preact.js";

// Where the marked item is by now; in the place of one that has gone is the item that came there.
function placeOf(marked, items, itemKey) {
  if (marked === null || !items.length) return null;
  const is = (item, index) => itemKey(item, index) === marked.key;
  if (marked.index < items.length && is(items[marked.index], marked.index)) return marked.index;
  const found = items.findIndex(is);
  return found >= 0 ? found : Math.min(marked.index, items.length - 1);
}

// Moving in a list by keyboard: `j` and `k`, Enter opens; `more` are further shortcuts, whose `run` gets the index that
// is marked. The mark stays at its item, by `itemKey(item, index)`, while others come and go. Returns its index, or null,
// and a function that sets it.
export function useListKeys({ items, itemKey, noun, onOpen, more = [] }) {
  const marked = useRef(null);
  const [, draw] = useState(0);
  // Keys may be pressed faster than effects run, so what they do is looked up as of the last render.
  const latest = useRef({});
  latest.current = { items, itemKey, onOpen, more };
  const at = (index) => (index === null ? null : { index, key: latest.current.itemKey(latest.current.items[index], index) });
  marked.current = at(placeOf(marked.current, items, itemKey));
  const mark = (index) => {
    marked.current = at(index);
    draw((number) => number + 1);
  };
  const move = (step) => () => {
    const last = latest.current.items.length - 1;
    if (last >= 0) mark(marked.current === null ? 0 : Math.max(0, Math.min(last, marked.current.index + step)));
  };
  const withMarked = (doing) => () => marked.current !== null && doing(latest.current)(marked.current.index);
  useKeys(
    [
      { keys: ["j"], does: `Next ${noun}`, run: move(1) },
      { keys: ["k"], does: `Previous ${noun}`, run: move(-1) },
      { keys: ["Enter"], does: `Open the ${noun}`, run: withMarked((now) => now.onOpen) },
      ...more.map((one, index) => ({ ...one, run: withMarked((now) => now.more[index].run) })),
    ],
    [more.map((one) => one.keys).join()],
  );
  return [marked.current?.index ?? null, mark];
}
