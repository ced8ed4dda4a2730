import { everyItem } from "../../../lib/api.js";
import { useData } from "../../../lib/hooks.js";
import { parseJson } from "../../../lib/json.js";
import { html, useState } from "../../../lib/preact.js";
import { Failure, Field, Json, PlainText, Time, confirm, toast, useAction } from "../../../parts/index.js";

// Items of the inbox that are looked through for the call.
const MOST = 10_000;
const OUTCOMES = [
  { id: "happened", title: "It happened", hint: "The handler has done its work. It is not called again." },
  { id: "again", title: "Call it again", hint: "With the same idempotency key." },
  { id: "fail", title: "Fail", hint: "The run ends with an error." },
];

function Facts({ item }) {
  return html`<dl class="call-facts">
    ${item.tool && html`<div><dt>Tool</dt><dd><${PlainText} inline text=${item.tool} limit=${100} /></dd></div>`}
    ${item.idempotency_key && html`<div><dt>Idempotency key</dt><dd class="mono"><${PlainText} inline text=${item.idempotency_key} limit=${200} /></dd></div>`}
    ${item.began_at && html`<div><dt>Begun</dt><dd><${Time} iso=${item.began_at} /></dd></div>`}
    ${item.worker && html`<div><dt>Worker</dt><dd>${item.worker.host ? `${item.worker.host} (pid ${item.worker.pid})` : item.worker.id}</dd></div>`}
    <div><dt>Attempts</dt><dd>${item.attempts}</dd></div>
    ${item.error && html`<div><dt>Error</dt><dd><${PlainText} inline text=${item.error.message ?? ""} limit=${500} /></dd></div>`}
    ${item.arguments && html`<div><dt>Arguments</dt><dd class="bare-json"><${Json} value=${item.arguments} open=${2} /></dd></div>`}
  </dl>`;
}

// What became of the call that no one knows of.
export function Resolve({ run, onChanged }) {
  const ask = run.waiting_for.ask;
  const { data: item } = useData(async ({ signal }) => (await everyItem("v1/inbox", {}, { most: MOST, signal })).find((one) => one.id === ask) ?? null, [], { about: ask });
  const [outcome, setOutcome] = useState(null);
  const [result, setResult] = useState("");
  const [isJson, setJson] = useState(false);
  const [fault, setFault] = useState(null);
  const { busy, problem, send } = useAction();
  const isModel = item?.responder === "llm";
  const submit = async (event) => {
    event.preventDefault();
    const body = { outcome };
    if (outcome === "happened" && result !== "") {
      try {
        body.result = isJson ? parseJson(result) : result;
      } catch (error) {
        setFault(`This is not JSON: ${error.message}`);
        return;
      }
    }
    setFault(null);
    if (outcome === "fail" && !(await confirm({ title: "End the run with an error?", body: "The call counts as failed. The run can be retried afterwards.", action: "Fail", danger: true }))) return;
    const now = await send("post", `v1/inbox/${encodeURIComponent(ask)}`, body);
    if (!now) return;
    toast("The call is resolved.", "good");
    onChanged(now);
  };
  return html`<form class="resolve" onSubmit=${submit}>
    ${item && html`<${Facts} item=${item} />`}
    <div class="resolve-form">
    <fieldset class="options">
      <legend>What became of it?</legend>
      ${OUTCOMES.filter((one) => one.id !== "happened" || !isModel).map(
        (one) => html`<label key=${one.id} class="option"><input type="radio" name="outcome" value=${one.id} checked=${outcome === one.id} onChange=${() => setOutcome(one.id)} /><span><strong>${one.title}</strong> <span class="soft">${one.hint}</span></span></label>`,
      )}
    </fieldset>
    ${outcome === "happened" &&
    html`<${Field} as="textarea" rows="2" label="Result of the handler" hint="Leave it empty if the handler returned nothing." error=${fault} value=${result} onInput=${(event) => setResult(event.currentTarget.value)} />
      <label class="toggle"><input type="checkbox" checked=${isJson} onChange=${(event) => setJson(event.currentTarget.checked)} /> The result is JSON</label>`}
    ${problem && html`<${Failure} problem=${problem} compact />`}
    <div class="action-buttons"><button type="submit" class="primary" disabled=${busy || !outcome}>${busy ? "Sending…" : "Resolve"}</button></div>
    </div>
  </form>`;
}
