// Keyboard shortcuts. Each is registered with a sentence, and the dialog behind `?` lists what is registered now.
import { useLayoutEffect } from "./preact.js";

const registered = new Set();
const SEQUENCE_MS = 1500;
let prefix = null;
let prefixAt = 0;

function isTyping(target) {
  return target instanceof Element && target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
}

// A control that Enter or Space already means something to.
function isControl(target) {
  return target instanceof Element && target.closest("a[href], button, summary, [role=tab], [role=menuitem]");
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  if ((event.key === "Enter" || event.key === " ") && isControl(event.target)) return;
  const sequence = prefix && Date.now() - prefixAt < SEQUENCE_MS ? `${prefix} ${event.key}` : null;
  prefix = null;
  // The one registered last is the innermost.
  const all = [...registered].reverse();
  const found = all.find((one) => one.keys.includes(sequence)) ?? all.find((one) => one.keys.includes(event.key));
  if (found) {
    event.preventDefault();
    found.run(event);
  } else if (all.some((one) => one.keys.some((keys) => keys.startsWith(`${event.key} `)))) {
    prefix = event.key;
    prefixAt = Date.now();
  }
}

addEventListener("keydown", pressed);

// Shortcuts while the component is shown: `[{keys: ["j", "ArrowDown"], does: "Next run", run}]`; "g r" is `g`, then `r`.
// They are there as soon as the component is drawn, so that no key that follows is lost.
export function useKeys(shortcuts, deps) {
  useLayoutEffect(() => {
    for (const one of shortcuts) registered.add(one);
    return () => {
      for (const one of shortcuts) registered.delete(one);
    };
  }, deps);
}

// `/` goes to the page's search, while a component that has one is shown.
export function useSearchKey() {
  useKeys([{ keys: ["/"], does: "Search", run: () => document.querySelector("main [type=search]")?.focus() }], []);
}

export function shortcutsNow() {
  return [...registered];
}
