import { api } from "../../lib/api.js";
import { useDraft } from "../../lib/drafts.js";
import { parseJson } from "../../lib/json.js";
import { html, useState } from "../../lib/preact.js";
import { Failure, Field, Icon, Json, PlainText, Time, confirm } from "../../parts/index.js";
import { formKeys, useSending } from "./sending.js";

const HAPPENED = { id: "happened", title: "It happened", hint: "Its handler has done its work, and is not called again." };
const AGAIN = { id: "again", title: "Call it again", hint: "A handler gets the same idempotency key as before." };
const FAIL = { id: "fail", title: "Fail the run", hint: "The run ends with an error." };

// No call of a handler is on record: then it is not known to have happened, only to be asked again.
function outcomesOf(item) {
  return item.idempotency_key ? [HAPPENED, AGAIN, FAIL] : [AGAIN, FAIL];
}

function What({ name, children }) {
  return html`<div><dt>${name}</dt><dd>${children}</dd></div>`;
}

function Facts({ item }) {
  const worker = item.worker;
  return html`<dl class="facts">
    ${item.tool && html`<${What} name="Tool"><${PlainText} text=${item.tool} limit=${200} inline /><//>`}
    <${What} name="Agent"><${PlainText} text=${item.agent} limit=${200} inline /><//>
    ${item.idempotency_key && html`<${What} name="Idempotency key"><code class="anywhere">${item.idempotency_key}</code><//>`}
    ${item.began_at && html`<${What} name="Began"><${Time} iso=${item.began_at} /><//>`}
    ${worker && html`<${What} name="Worker"><span class="anywhere">${worker.host ? `${worker.host}, process ${worker.pid}` : worker.id}</span><//>`}
    <${What} name="Attempts">${item.attempts}<//>
    ${item.error && html`<${What} name="Error"><${PlainText} text=${`${item.error.type ?? ""}: ${item.error.message ?? ""}`} limit=${1000} inline /><//>`}
    ${item.arguments && html`<${What} name="Arguments"><${Json} value=${item.arguments} /><//>`}
  </dl>`;
}

function whatIsUnknown(item) {
  if (!item.idempotency_key) return `Worker after worker was lost, or could not write the answer, while ${item.agent} was to answer, so no one tries again before a person says so. Their logs may tell why.`;
  return "No one knows whether this call happened. Look it up where the tool does its work, then say what became of it.";
}

// An ask that no one may answer before a person has said what became of it.
export function Parked({ item, onDone }) {
  const [draft, change] = useDraft(item.id);
  const [wrong, setWrong] = useState(null);
  const post = (body, idempotencyKey) => api.post(`v1/inbox/${encodeURIComponent(item.id)}`, body, { idempotencyKey });
  const { send, busy, problem } = useSending(post, onDone);
  const outcomes = outcomesOf(item);
  const { outcome = null, result = "", isJson = false } = draft;

  const submit = async (event) => {
    event.preventDefault();
    setWrong(null);
    if (!outcome) return setWrong("Choose what became of it.");
    const body = { outcome };
    if (outcome === "happened" && result.trim()) {
      try {
        body.result = isJson ? parseJson(result) : result;
      } catch (error) {
        return setWrong(`The result is no JSON: ${error.message}`);
      }
    }
    if (outcome === "fail" && !(await confirm({ title: "Fail the run?", body: "The run ends with an error. It can be retried afterwards.", action: "Fail the run", danger: true }))) return undefined;
    return send(body);
  };
  return html`<p class="inbox-why">${whatIsUnknown(item)}</p>
    <${Facts} item=${item} />
    <form class="inbox-form" onSubmit=${submit} onKeyDown=${formKeys}>
      <fieldset class="outcomes" disabled=${item.closed}>
        <legend>What became of it?</legend>
        ${outcomes.map(
          (one, index) => html`<label key=${one.id} class="outcome ${outcome === one.id ? "chosen" : ""}">
            <input type="radio" name="outcome-${item.id}" value=${one.id} checked=${outcome === one.id} data-field=${index === 0 ? true : undefined} onChange=${() => change({ outcome: one.id })} />
            <span><strong>${one.title}</strong><span class="field-hint">${one.hint}</span></span>
          </label>`,
        )}
      </fieldset>
      ${outcome === "happened" &&
      html`<${Field} as="textarea" label="Its result" rows="2" value=${result} hint="What the handler would have returned. Leave it empty if it returned nothing." onInput=${(event) => change({ result: event.target.value })} />
        <label class="check"><input type="checkbox" checked=${isJson} onChange=${(event) => change({ isJson: event.target.checked })} />The result is JSON</label>`}
      ${wrong && html`<p class="field-error" role="alert">${wrong}</p>`}
      ${problem && html`<${Failure} problem=${problem} compact />`}
      ${!item.closed &&
      html`<div class="inbox-buttons">
        <button class=${outcome === "fail" ? "danger" : "primary"} disabled=${busy}><${Icon} name="check" />${busy ? "Sending…" : "Resolve"}<kbd class="in-button">Ctrl ↵</kbd></button>
      </div>`}
    </form>`;
}
