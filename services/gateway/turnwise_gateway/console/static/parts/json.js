import { count } from "../lib/format.js";
import { html, useState } from "../lib/preact.js";
import { PlainText } from "./plain_text.js";

const FIRST = 100;

function summary(value) {
  if (Array.isArray(value)) return `[ ${value.length} ]`;
  const keys = Object.keys(value);
  const told = keys.slice(0, 4).join(", ");
  return `{ ${told}${keys.length > 4 ? ", …" : ""} }`;
}

// What stands beside the triangle of a value without a name.
function size(number, value) {
  const one = Array.isArray(value) ? "item" : "field";
  return `${count(number)} ${one}${number === 1 ? "" : "s"}`;
}

function Leaf({ value }) {
  if (typeof value === "string") return html`<span class="json-string"><${PlainText} text=${value} limit=${2000} inline /></span>`;
  const kinds = { object: "null", bigint: "number" };
  return html`<span class="json-${kinds[typeof value] ?? typeof value}">${String(value)}</span>`;
}

function Name({ name }) {
  return name === null ? null : html`<span class="json-key"><${PlainText} text=${String(name)} limit=${200} inline /></span>`;
}

function Node({ name, value, open, depth }) {
  const [isOpen, setOpen] = useState(open > 0);
  const [most, setMost] = useState(FIRST);
  if (value === null || typeof value !== "object") return html`<div class="json-row"><${Name} name=${name} /><${Leaf} value=${value} /></div>`;
  const entries = Object.entries(value);
  if (!entries.length) return html`<div class="json-row"><${Name} name=${name} /><span class="json-null">${Array.isArray(value) ? "[ ]" : "{ }"}</span></div>`;
  return html`<details class="json-node" open=${isOpen} onToggle=${(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
    <summary><${Name} name=${name} />${!isOpen && html`<span class="json-null"><${PlainText} text=${summary(value)} limit=${120} inline /></span>`}${isOpen && name === null && html`<span class="json-null">${size(entries.length, value)}</span>`}</summary>
    ${isOpen &&
    html`<div class="json-children">
      ${entries.slice(0, most).map(([key, one]) => html`<${Node} key=${key} name=${key} value=${one} open=${open - 1} depth=${depth + 1} />`)}
      ${entries.length > most && html`<button type="button" class="link" onClick=${() => setMost(most * 10)}>${entries.length - most} more</button>`}
    </div>`}
  </details>`;
}

// A JSON value as a tree that folds; the first `open` levels are open.
export function Json({ value, open = 1 }) {
  return html`<div class="json"><${Node} name=${null} value=${value} open=${open} depth=${0} /></div>`;
}
