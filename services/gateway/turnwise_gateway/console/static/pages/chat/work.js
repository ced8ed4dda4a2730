import { count } from "../../lib/format.js";
import { html, useEffect, useState } from "../../lib/preact.js";
import { Icon, Json, PlainText } from "../../parts/index.js";
import { partsOf } from "../run/document.js";
import { outlineOf } from "./segments.js";

// Steps shown at first, and more at a click.
const SHOWN = 20;
const MORE = 100;

const ROLES = { LLM: "model", Agent: "tools", User: "person" };
const MARKS = { "limit.reached": "A limit was reached.", "limits.changed": "Its limits were changed.", "ask.parked": "A call was parked.", "ask.resolved": "A parked call was resolved.", "run.forked": "The run begins as a fork." };

function Tool({ tool }) {
  return html`<details class="chat-tool">
    <summary><${Icon} name="tool" size=${13} /><code><${PlainText} text=${tool.name} limit=${80} inline /></code></summary>
    ${tool.fields ? html`<${Json} value=${tool.fields} open=${2} />` : html`<${PlainText} text=${String(tool.raw ?? "")} limit=${2000} />`}
  </details>`;
}

function Message({ entry }) {
  const parts = partsOf(entry.document);
  const text = parts.text || parts.results.map((one) => one.text).join("\n");
  return html`<div class="step ${entry.kind}">
    <span class="step-speaker"><${PlainText} text=${entry.node?.name ?? ""} limit=${60} inline /> <span class="faint">${entry.kind === "rejected" ? "rejected" : (ROLES[entry.responder] ?? "")}</span></span>
    <div class="step-text">
      ${text && html`<${PlainText} text=${text} limit=${800} />`}
      ${parts.tools.map((tool, index) => html`<${Tool} key=${index} tool=${tool} />`)}
    </div>
  </div>`;
}

function Step({ entry }) {
  if (entry.kind === "message" || entry.kind === "rejected") return html`<${Message} entry=${entry} />`;
  if (entry.kind === "started") return html`<div class="step note">The task <${PlainText} text=${entry.node.path} limit=${120} inline /> begins.</div>`;
  if (entry.kind === "finished") return html`<div class="step note">The task <${PlainText} text=${entry.node.path} limit=${120} inline /> is done${entry.status ? ` (${entry.status})` : ""}.</div>`;
  return html`<div class="step note">${MARKS[entry.type] ?? entry.type}</div>`;
}

// The work of tools, models and sub-tasks between two messages: open while it is done, folded afterwards.
export function Work({ entries, active }) {
  const [isOpen, setOpen] = useState(active);
  const [most, setMost] = useState(SHOWN);
  useEffect(() => setOpen(active), [active]);
  const hidden = Math.max(0, entries.length - most);
  return html`<details class="work" open=${isOpen} onToggle=${(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
    <summary>${active && html`<span class="spinner" aria-hidden="true" />`}${active ? "Working" : "Worked"}: <${PlainText} text=${outlineOf(entries)} limit=${160} inline /></summary>
    ${isOpen &&
    html`<div class="steps">
      ${hidden > 0 && html`<button type="button" class="link" onClick=${() => setMost(most + MORE)}>${count(hidden)} earlier steps</button>`}
      ${entries.slice(hidden).map((entry) => html`<${Step} key=${entry.key} entry=${entry} />`)}
    </div>`}
  </details>`;
}
