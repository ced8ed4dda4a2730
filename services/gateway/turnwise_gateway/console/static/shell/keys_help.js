import { shortcutsNow } from "../lib/keys.js";
import { html } from "../lib/preact.js";
import { Dialog } from "../parts/dialog.js";

const NAMES = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc", " ": "Space" };

function Keys({ keys }) {
  return keys.split(keys === " " ? "" : " ").map((key, index) => html`${index > 0 && " then "}<kbd>${NAMES[key] ?? key}</kbd>`);
}

// The shortcuts that work now: those of the page, then those that work everywhere.
export function KeysHelp({ onClose }) {
  const groups = Map.groupBy(shortcutsNow().filter((one) => one.does), (one) => one.group ?? "On this page");
  const names = [...groups.keys()].sort((one, other) => (one === "Everywhere") - (other === "Everywhere"));
  return html`<${Dialog} title="Keyboard" onClose=${onClose}>
    ${names.map(
      (name) => html`<section key=${name} class="keys-group">
        <h3>${name}</h3>
        <dl class="keys">
          ${groups.get(name).map((one) => html`<div><dt>${one.does}</dt><dd>${one.keys.map((keys, index) => html`${index > 0 && html`<span class="keys-or"> or </span>`}<${Keys} keys=${keys} />`)}</dd></div>`)}
        </dl>
      </section>`,
    )}
  <//>`;
}
