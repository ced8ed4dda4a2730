import { html } from "../../lib/preact.js";
import { Empty, Json, PlainText } from "../../parts/index.js";
import { parsed } from "./document.js";
import { isEnded } from "./use_run.js";

function Block({ title, children }) {
  return html`<section class="card result-block"><h3>${title}</h3>${children}</section>`;
}

// What came out, what was given, and what the run was submitted with.
export function Result({ run }) {
  const { result, error, stopped } = run;
  const value = result?.content ? parsed(result.content) : undefined;
  return html`<div class="result-tab">
    ${!result && !error && html`<${Empty} icon="check" title=${isEnded(run) ? "It ended without a result" : "No result yet"} hint=${isEnded(run) ? "Its messages are in the transcript." : "The result appears here when the run has ended."} />`}
    ${result && html`<${Block} title="Result">${value === undefined ? html`<${PlainText} text=${result.content} />` : html`<${Json} value=${value} open=${3} />`}<//>`}
    ${result?.tools.length > 0 && html`<${Block} title="Tools of the result"><${Json} value=${result.tools} open=${3} /><//>`}
    ${stopped && html`<${Block} title="Ended by a limit"><${Json} value=${stopped} open=${2} /><//>`}
    ${error && html`<${Block} title="Error"><${Json} value=${error} open=${2} /><//>`}
    <${Block} title="First message"><${PlainText} text=${run.message?.content ?? ""} limit=${4000} /><//>
    ${Object.keys(run.metadata).length > 0 && html`<${Block} title="Metadata"><${Json} value=${run.metadata} open=${2} /><//>`}
  </div>`;
}
