import { between, duration } from "../../lib/format.js";
import { useNow } from "../../lib/hooks.js";
import { html } from "../../lib/preact.js";
import { link } from "../../lib/router.js";
import { Bar, Icon, Money, PlainText, Time, Tokens, toast } from "../../parts/index.js";
import { Answer } from "./actions/answer.js";
import { Resolve } from "./actions/resolve.js";
import { isEnded } from "./use_run.js";
import { actionFor, adviceFor, sentenceOf } from "./waiting.js";

async function copyId(id) {
  try {
    await navigator.clipboard.writeText(id);
    toast("The id is copied.");
  } catch {
    toast("The browser did not allow copying; select the id instead.", "bad");
  }
}

// The id, and where the run belongs.
export function Identity({ run }) {
  return html`<span class="run-identity">
    <span class="mono">${run.id}</span><button type="button" class="icon-button" title="Copy the id" aria-label="Copy the id" onClick=${() => copyId(run.id)}><${Icon} name="copy" size="14" /></button>
    ${run.forked_from && html`<span><${Icon} name="fork" size="14" /> fork of <a href=${link("runs", [run.forked_from.run])}>${run.forked_from.run.slice(-8)}</a> at event ${run.forked_from.at} · <a href=${link("runs", [run.forked_from.run, "compare", run.id])}>compare</a></span>`}
    ${run.session_id && html`<span>session <a href=${link("runs", [], { session: run.session_id })}><${PlainText} inline text=${run.session_id} limit=${60} /></a></span>`}
    ${run.model && html`<span>model <${PlainText} inline text=${run.model} limit=${60} /></span>`}
    <span>version <${PlainText} inline text=${run.version} limit=${40} /></span>
    ${run.tags.map((tag) => html`<a key=${tag} class="tag" href=${link("runs", [], { tag })}><${PlainText} inline text=${tag} limit=${40} /></a>`)}
  </span>`;
}

function Fact({ title, children }) {
  return html`<div><dt>${title}</dt><dd>${children}</dd></div>`;
}

// The numbers of the run; a limit has a bar.
export function Facts({ run, picture }) {
  useNow(isEnded(run) ? 3600 : 1);
  const { usage, limits } = run;
  const used = usage.prompt_tokens + usage.completion_tokens;
  const lasts = between(run.started_at ?? run.created_at, run.finished_at);
  const spent = between(run.created_at, run.finished_at);
  const turns = picture ? picture.entries.filter((entry) => entry.kind === "message" && entry.node.depth === 0 && entry.responder !== null).length : 0;
  return html`<div class="run-facts">
    <dl class="fact-row">
      <${Fact} title="Started"><${Time} iso=${run.started_at ?? run.created_at} /><//>
      <${Fact} title=${isEnded(run) ? "Took" : "So far"}><span class="number">${run.started_at ? duration(lasts) : "–"}</span><//>
      <${Fact} title="Cost"><${Money} value=${usage.cost} />${usage.unpriced_calls > 0 && html` <span class="soft small" title="Their price is not known">+ ${usage.unpriced_calls} calls</span>`}<//>
      <${Fact} title="Tokens"><${Tokens} value=${used} /><//>
      <${Fact} title="Model calls"><span class="number">${usage.calls}</span><//>
    </dl>
    <div class="run-bars">
      ${Number(limits.max_cost) > 0 && html`<${Bar} label="Cost limit" value=${Number(usage.cost)} max=${Number(limits.max_cost)} text=${html`<${Money} value=${usage.cost} /> of <${Money} value=${limits.max_cost} />`} />`}
      ${limits.max_tokens > 0 && html`<${Bar} label="Token limit" value=${used} max=${limits.max_tokens} text=${html`<${Tokens} value=${used} /> of <${Tokens} value=${limits.max_tokens} />`} />`}
      ${limits.turns && html`<${Bar} label="Turn limit" value=${turns} max=${limits.turns} />`}
      ${limits.deadline && html`<${Bar} label="Deadline" value=${spent} max=${limits.deadline} text="${duration(spent)} of ${duration(limits.deadline)}" />`}
    </div>
  </div>`;
}

// The question that is open: the last message before it was asked.
function Question({ picture }) {
  const last = picture?.entries.findLast((entry) => entry.kind === "message");
  return last ? html`<blockquote class="question"><${PlainText} text=${last.document.content ?? ""} limit=${2000} /></blockquote>` : null;
}

// Why it waits, and what ends that.
export function Waiting({ run, picture, mayWrite, onAction, onChanged }) {
  const waiting = run.waiting_for;
  useNow(waiting?.due_at ? 1 : 10);
  if (!waiting || isEnded(run)) return null;
  const action = mayWrite ? actionFor(waiting) : null;
  const left = waiting.due_at ? between(new Date().toISOString(), waiting.due_at) : null;
  const isLoud = run.status === "waiting" || ["parked", "outage", "budget", "paused", "version"].includes(waiting.kind);
  return html`<section class="waiting ${isLoud ? "warning" : "quiet"}" aria-label="Why it is waiting">
    <p class="waiting-sentence" role="status"><${Icon} name="clock" size="16" /><span><${PlainText} inline text=${sentenceOf(waiting)} limit=${1000} /></span></p>
    <p class="soft small">${waiting.since && !/ since /.test(waiting.sentence ?? "") && html`Since <${Time} iso=${waiting.since} />.`}${left > 0 && html` Continues in ${duration(left)}.`}</p>
    ${run.cancel_requested_at && html`<p class="small">Its cancellation was asked for; it ends before another responder is asked.</p>`}
    ${waiting.kind === "human" && html`<${Question} picture=${picture} />`}
    ${action === "answer" && html`<${Answer} key=${waiting.question} run=${run} onChanged=${onChanged} />`}
    ${action === "resolve" && html`<${Resolve} key=${waiting.ask} run=${run} onChanged=${onChanged} />`}
    ${action === "limits" && html`<div class="action-buttons start"><button type="button" class="primary" onClick=${() => onAction("limits")}>Raise the limit</button></div>`}
  </section>`;
}

// The error, or the limit, that ended the run, and what to do.
export function Ending({ run, mayWrite, onAction }) {
  const advice = adviceFor(run);
  if (!advice) return null;
  const { error, stopped } = run;
  const title = stopped?.message ?? (error ? `${error.type ?? "Error"}${error.place ? ` in ${error.place}` : ""}` : `It ended with ${run.status_code}`);
  return html`<section class="failure run-ending ${stopped && run.status === "completed" ? "limited" : ""}" aria-label="How it ended">
    <${Icon} name="warning" size="20" />
    <div>
      <strong><${PlainText} inline text=${title} limit=${300} /></strong>
      ${error?.message && html`<p><${PlainText} text=${error.message} limit=${2000} /></p>`}
      ${error?.line && html`<p class="soft small mono"><${PlainText} inline text=${error.line} limit=${300} /></p>`}
      <p class="advice">${advice.text}</p>
      ${mayWrite && html`<div class="action-buttons start">
        ${advice.actions.includes("retry") && html`<button type="button" class="primary" onClick=${() => onAction("retry")}><${Icon} name="retry" />Retry</button>`}
        ${advice.actions.includes("fork") && html`<button type="button" onClick=${() => onAction("fork")}><${Icon} name="fork" />Fork from its last message</button>`}
      </div>`}
    </div>
  </section>`;
}
