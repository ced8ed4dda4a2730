import { html, useEffect, useId, useRef } from "../lib/preact.js";

// Tabs: `tabs` are `[{id, title, count?, render()}]`; arrow keys, Home and End move between them.
export function Tabs({ tabs, selected, onSelect, label }) {
  const id = useId();
  const list = useRef(null);
  const at = Math.max(0, tabs.findIndex((tab) => tab.id === selected));
  const shown = tabs[at];
  // On a narrow screen the list scrolls; the selected tab is not to be out of sight.
  useEffect(() => {
    const frame = list.current.getBoundingClientRect();
    const tab = list.current.children[at].getBoundingClientRect();
    list.current.scrollLeft += tab.left + tab.width / 2 - (frame.left + frame.width / 2);
  }, [at]);
  const move = (event) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const index = (to + tabs.length) % tabs.length;
    onSelect(tabs[index].id);
    list.current.children[index].focus();
  };
  return html`<div class="tabs">
    <div class="tab-list" role="tablist" aria-label=${label} ref=${list} onKeyDown=${move}>
      ${tabs.map(
        (tab, index) => html`<button key=${tab.id} type="button" role="tab" id="${id}-${tab.id}" aria-controls="${id}-panel" aria-selected=${index === at ? "true" : "false"}
          tabindex=${index === at ? 0 : -1} onClick=${() => onSelect(tab.id)}>${tab.title}${tab.count !== undefined && html` <span class="tab-count">${tab.count}</span>`}</button>`,
      )}
    </div>
    <div class="tab-panel" role="tabpanel" id="${id}-panel" aria-labelledby="${id}-${shown.id}" tabindex="0">${shown.render()}</div>
  </div>`;
}
