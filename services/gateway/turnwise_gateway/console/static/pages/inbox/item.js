import { scopeInWords, useMayWrite } from "../../lib/caller.js";
import { html, useLayoutEffect, useRef } from "../../lib/preact.js";
import { link } from "../../lib/router.js";
import { PlainText, Time } from "../../parts/index.js";
import { RunContext } from "./context.js";
import { Parked } from "./parked.js";
import { Question } from "./question.js";

export function cameAt(item) {
  return item.kind === "parked" ? item.parked_at : (item.asked_at ?? "");
}

function asker(item) {
  return item.kind === "parked" ? item.agent : item.task.split("/").at(-1);
}

// The item in one line.
function outline(item) {
  if (item.kind === "parked") return item.tool ? `Did ${item.tool} happen?` : "Who was asked was lost.";
  return (item.text ?? "").trimStart().slice(0, 200).split("\n", 1)[0];
}

const KINDS = { question: { text: "Question", tone: "active" }, parked: { text: "Parked call", tone: "warning" } };
const FORMS = { question: Question, parked: Parked };

function Unknown({ item }) {
  return html`<p class="soft">This console does not know items of the kind <code>${item.kind}</code>. <a href=${link("runs", [item.run])}>Open the run.</a></p>`;
}

// An item of the inbox: a line, or all of it where it is selected. `asks` counts up when its field is to have the focus.
export function InboxItem({ item, selected, asks, onSelect, onDone, onDismiss }) {
  const element = useRef(null);
  const mayWrite = useMayWrite();
  const kind = KINDS[item.kind] ?? { text: item.kind, tone: "quiet" };
  const Form = FORMS[item.kind] ?? Unknown;
  useLayoutEffect(() => {
    if (!selected || !asks) return;
    element.current.querySelector("[data-field]")?.focus();
    element.current.scrollIntoView({ block: "nearest" });
  }, [selected, asks]);
  return html`<li class="inbox-item ${selected ? "selected" : ""}" data-item=${item.id} ref=${element}>
    <h2>
      <button type="button" class="inbox-head" aria-expanded=${selected ? "true" : "false"} onClick=${() => onSelect(item)}>
        <span class="badge ${kind.tone}"><span class="badge-sign" aria-hidden="true" />${kind.text}</span>
        <span class="inbox-asker"><${PlainText} text=${asker(item)} limit=${60} inline /></span>
        <span class="inbox-outline">${!selected && html`<${PlainText} text=${outline(item)} limit=${200} inline />`}</span>
        <span class="inbox-age soft"><${Time} iso=${cameAt(item)} relative /></span>
      </button>
    </h2>
    ${selected &&
    html`<div class="inbox-body">
      ${item.gone && html`<p class="inbox-gone" role="status">This was decided by someone else while you were writing. <button type="button" class="link" onClick=${onDismiss}>Dismiss</button></p>`}
      ${!mayWrite && html`<p class="soft">You may not answer: your key or token does not allow to ${scopeInWords("runs:write")}.</p>`}
      <${Form} item=${{ ...item, closed: item.gone || !mayWrite }} onDone=${onDone} />
      <${RunContext} item=${item} />
    </div>`}
  </li>`;
}
