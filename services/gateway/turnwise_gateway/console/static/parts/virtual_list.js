import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib/preact.js";

const OVERSCAN = 400;
const NEAR_END = 600;

// Where each item begins, and where the last one ends.
function offsetsOf(items, key, heights, estimate) {
  const offsets = new Float64Array(items.length + 1);
  for (let index = 0; index < items.length; index += 1) {
    offsets[index + 1] = offsets[index] + (heights.get(key(items[index], index)) ?? estimate);
  }
  return offsets;
}

// The index of the item at a height.
function at(offsets, height) {
  let low = 0;
  let high = offsets.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (offsets[middle] <= height) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}

// A list of any length and of items of any height, of which only the rows in sight are in the document. It scrolls
// by itself, and takes the height that its place gives it.
//
// `items`, `itemKey(item, index)`, `render(item, index)`, `estimate` (height of an item not yet seen). `active`: index that is
// kept in sight. `follow`: stay at the end while items are added there. `onEnd()`: the end comes into sight. `role` and
// `itemRole` for assistive technology; `head` is shown above the items and stays.
export function VirtualList({ items, itemKey, render, estimate = 40, active = null, follow = false, onEnd, label, role = "list", itemRole = "listitem", head, class: own = "" }) {
  const keyOf = itemKey;
  const frame = useRef(null);
  const heights = useRef(new Map());
  const elements = useRef(new Map());
  const atEnd = useRef(true);
  const [measured, setMeasured] = useState(0);
  const [view, setView] = useState({ top: 0, height: innerHeight, overscan: 0 });

  const offsets = useMemo(() => offsetsOf(items, keyOf, heights.current, estimate), [items, measured, estimate]);
  const total = offsets[items.length];
  const current = useRef({});
  current.current = { offsets, items, keyOf };

  useEffect(() => {
    const element = frame.current;
    const look = () => {
      atEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - 40;
      setView((before) =>
        before.overscan && before.top === element.scrollTop && before.height === element.clientHeight ? before : { top: element.scrollTop, height: element.clientHeight, overscan: OVERSCAN },
      );
    };
    element.addEventListener("scroll", look, { passive: true });
    const resized = new ResizeObserver(look);
    // Which calls `look` as well. Rows out of sight can wait until those in sight are drawn.
    let timer = null;
    const drawn = requestAnimationFrame(() => {
      timer = setTimeout(() => resized.observe(element));
    });
    return () => {
      cancelAnimationFrame(drawn);
      clearTimeout(timer);
      element.removeEventListener("scroll", look);
      resized.disconnect();
    };
  }, []);

  const observer = useMemo(
    () =>
      new ResizeObserver((entries) => {
        let above = 0;
        let changed = false;
        const top = frame.current?.scrollTop ?? 0;
        for (const entry of entries) {
          const known = elements.current.get(entry.target);
          if (known === undefined || !entry.target.isConnected) continue;
          const height = entry.borderBoxSize[0].blockSize;
          const before = heights.current.get(known.key) ?? estimate;
          heights.current.set(known.key, height);
          if (Math.abs(height - before) < 0.5) continue;
          changed = true;
          // Rows above the view that turn out to be larger must not push what is being read.
          if (current.current.offsets[known.index + 1] <= top) above += height - before;
        }
        if (!changed) return;
        if (above && frame.current) frame.current.scrollTop += above;
        setMeasured((number) => number + 1);
      }),
    [],
  );
  useEffect(() => () => observer.disconnect(), []);

  const first = items.length ? at(offsets, Math.max(0, view.top - view.overscan)) : 0;
  const last = items.length ? at(offsets, view.top + view.height + view.overscan) : -1;

  useLayoutEffect(() => {
    const seen = new Map();
    const rows = frame.current.querySelector(":scope > .virtual-space > .virtual-rows").children;
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index];
      if (!elements.current.has(row)) observer.observe(row);
      seen.set(row, { key: keyOf(items[first + index], first + index), index: first + index });
    }
    for (const row of elements.current.keys()) if (!seen.has(row)) observer.unobserve(row);
    elements.current = seen;
    if (follow && atEnd.current) frame.current.scrollTop = frame.current.scrollHeight;
  });

  // What is being read stays where it is while items are added above it.
  const newest = useRef(null);
  useLayoutEffect(() => {
    const before = newest.current;
    newest.current = items.length ? keyOf(items[0], 0) : null;
    if (before === null || before === newest.current || frame.current.scrollTop === 0) return;
    const moved = items.findIndex((item, index) => keyOf(item, index) === before);
    if (moved > 0) frame.current.scrollTop += offsets[moved];
  }, [items]);

  // Not where it is moved by items above it: the person may be reading elsewhere.
  const marked = active === null || active >= items.length ? null : keyOf(items[active], active);
  useLayoutEffect(() => {
    if (active === null || active < 0 || active >= items.length) return;
    const element = frame.current;
    const covered = element.querySelector(":scope > .virtual-head")?.offsetHeight ?? 0;
    const above = offsets[active];
    const below = offsets[active + 1] + covered;
    if (above < element.scrollTop) element.scrollTop = above;
    else if (below > element.scrollTop + element.clientHeight) element.scrollTop = below - element.clientHeight;
  }, [marked]);

  const isNear = total - view.top - view.height < NEAR_END;
  useEffect(() => {
    if (isNear && view.overscan && items.length) onEnd?.();
  }, [isNear, view.overscan, items.length]);

  const rows = [];
  for (let index = first; index <= last; index += 1) {
    const place = itemRole === "row" ? { "aria-rowindex": index + 2 } : { "aria-posinset": index + 1, "aria-setsize": items.length };
    rows.push(html`<div key=${keyOf(items[index], index)} class="virtual-row" role=${itemRole} ...${place}>${render(items[index], index)}</div>`);
  }
  return html`<div class="virtual-list ${own}" ref=${frame} tabindex="0" role=${role} aria-label=${label} aria-rowcount=${itemRole === "row" ? items.length + 1 : undefined}>
    ${head && html`<div class="virtual-head" role=${itemRole === "row" ? "rowgroup" : undefined}>${head}</div>`}
    <div class="virtual-space" role=${itemRole === "row" ? "rowgroup" : "presentation"} style=${{ height: `${total}px` }}>
      <div class="virtual-rows" role="presentation" style=${{ transform: `translateY(${offsets[first] ?? 0}px)` }}>${rows}</div>
    </div>
  </div>`;
}
