import { count } from "../../lib/format.js";
import { html, useEffect, useRef, useState } from "../../lib/preact.js";
import { Icon, Money, PlainText, VirtualList } from "../../parts/index.js";

const GOOD = new Set(["OK", "DONE", "USER_QUIT", "FIXED_TURNS", "NO_ANSWER"]);

function tone(node, ended) {
  if (!node.endedAt) return ended ? "quiet" : "active";
  return GOOD.has(node.status) ? "good" : node.status === "KILL" ? "quiet" : "bad";
}

function Node({ node, ended, isSelected, isActive, onSelect }) {
  const state = node.status ?? (ended ? "cancelled" : "open");
  return html`<button type="button" class="task-tree-node ${isActive ? "marked" : ""}" tabindex="-1" aria-pressed=${isSelected ? "true" : "false"} onClick=${() => onSelect(isSelected ? null : node)}
      style=${{ paddingInlineStart: `${8 + Math.min(node.depth, 8) * 14}px` }} title="${node.path}: ${state}">
    <span class="task-tree-sign ${tone(node, ended)}" aria-hidden="true" />
    <span class="task-tree-name ellipsis"><${PlainText} inline text=${node.name} limit=${80} /></span>
    <span class="visually-hidden">${state}</span>
    <span class="task-tree-facts"><span class="faint">${node.messages}</span>${node.cost > 0 && html`<${Money} value=${node.cost} />`}</span>
  </button>`;
}

// The calls of tasks; choosing one shows its messages and those of the tasks that it called. Arrow keys move.
export function Tree({ nodes, selected, ended, onSelect }) {
  const [active, setActive] = useState(null);
  const frame = useRef(null);
  useEffect(() => {
    if (selected) setActive(selected.no);
  }, [selected?.no]);
  const keys = (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      setActive((before) => Math.max(0, Math.min(nodes.length - 1, (before ?? -move) + move)));
    } else if ((event.key === "Enter" || event.key === " ") && active !== null && event.target === frame.current?.querySelector(".virtual-list")) {
      event.preventDefault();
      onSelect(nodes[active] === selected ? null : nodes[active]);
    }
  };
  return html`<section class="task-tree" aria-label="Tasks" onKeyDown=${keys} ref=${frame}>
    <h2 class="task-tree-title"><${Icon} name="tasks" size="14" /> Tasks <span class="faint">${count(nodes.length)}</span></h2>
    <${VirtualList} class="task-tree-list" label="Calls of tasks" items=${nodes} itemKey=${(node) => node.no} estimate=${30} active=${active}
      render=${(node, index) => html`<${Node} node=${node} ended=${ended} isSelected=${selected?.no === node.no} isActive=${index === active} onSelect=${onSelect} />`} />
  </section>`;
}
