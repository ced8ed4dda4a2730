import { between, duration, money, tokens } from "../../lib/format.js";
import { html, useEffect, useState } from "../../lib/preact.js";
import { link } from "../../lib/router.js";
import { Failure, Json, Loading, PlainText } from "../../parts/index.js";
import { partsOf } from "../run/document.js";
import { isEnded, useRun } from "../run/use_run.js";
import { adviceFor, sentenceOf } from "../run/waiting.js";
import { hasAnswer, segmentsOf } from "./segments.js";
import { Work } from "./work.js";

// Of an answer in progress the end is shown: the whole of it follows.
const LIVE_TAIL = 6000;
// Someone is at it, or will be in a moment.
const ORDINARY = new Set(["move", "llm", "agent", "human"]);

export function Bubble({ who, name, document, children }) {
  const parts = document ? partsOf(document) : null;
  return html`<div class="bubble ${who}">
    ${name && html`<div class="bubble-name"><${PlainText} text=${name} limit=${80} inline /></div>`}
    ${parts && html`<${PlainText} text=${parts.text || parts.results.map((one) => one.text).join("\n")} limit=${6000} />`}
    ${parts && !parts.text && parts.tools.map((tool, index) => html`<div key=${index}><code><${PlainText} text=${tool.name} limit=${80} inline /></code>${tool.fields ? html`<${Json} value=${tool.fields} open=${2} />` : null}</div>`)}
    ${parts?.files > 0 && html`<p class="small soft">${parts.files === 1 ? "1 file" : `${parts.files} files`}</p>`}
    ${children}
  </div>`;
}

function Live({ live, name }) {
  const text = live.text.length > LIVE_TAIL ? `…${live.text.slice(-LIVE_TAIL)}` : live.text;
  // A tool that is written as text is work, not an answer.
  if (/^\s*[{[]/.test(text)) return html`<p class="chat-note"><span class="spinner" aria-hidden="true" />${name} writes the call of a tool.</p>`;
  return html`<div aria-live="off" data-live><${Bubble} who="said live" name=${name}><${PlainText} text=${text} limit=${LIVE_TAIL + 1} /><//></div>`;
}

function Under({ run }) {
  const used = run.usage.prompt_tokens + run.usage.completion_tokens;
  const parts = [Number(run.usage.cost) > 0 && money(run.usage.cost), used > 0 && `${tokens(used)} tokens`, run.finished_at && duration(between(run.created_at, run.finished_at))];
  return html`<p class="chat-under faint">${parts.filter(Boolean).map((part) => html`<span>${part}</span>`)}<a href=${link("runs", [run.id])}>Run</a></p>`;
}

// How the run ended, where that is not by an answer; and what to do then.
function End({ run, onAgain, onRetry }) {
  if (run.status === "cancelled") return html`<p class="chat-note">It was stopped, so the session does not know of it. <button type="button" class="link" onClick=${onAgain}>Say it again</button></p>`;
  if (run.status !== "failed") return null;
  const advice = adviceFor(run);
  const title = run.error?.type ? `The run failed: ${run.error.type}` : `The run failed: ${run.status_code}`;
  return html`<div class="failure compact" role="alert">
    <div>
      <strong>${title}</strong>
      ${run.error?.message && html`<p><${PlainText} text=${run.error.message} limit=${1000} /></p>`}
      ${advice && html`<p class="soft">${advice.text}</p>`}
      <div class="chat-buttons">
        ${advice?.actions.includes("retry") && html`<button type="button" onClick=${onRetry}>Retry</button>`}
        <button type="button" onClick=${onAgain}>Say it again</button>
      </div>
    </div>
  </div>`;
}

function Doing({ picture, run }) {
  if (run.status === "waiting" && run.waiting_for?.kind === "human") return null;
  const waiting = run.waiting_for;
  if (waiting?.kind === "parked") return html`<p class="chat-note"><${PlainText} text=${sentenceOf(waiting)} limit=${1000} inline /> <a href=${link("inbox")}>Resolve it in the inbox.</a></p>`;
  const isStuck = waiting && (!ORDINARY.has(waiting.kind) || waiting.workers === 0 || waiting.coordinators === 0);
  if (isStuck) return html`<p class="chat-note"><span class="spinner" aria-hidden="true" /><${PlainText} text=${sentenceOf(waiting)} limit=${1000} inline /></p>`;
  if (picture.live?.text) return null;
  const name = picture.asked?.task?.split("/").at(-1);
  const what = { LLM: "asks its model", Agent: "uses its tools" }[picture.asked?.responder];
  return html`<p class="chat-note"><span class="spinner" aria-hidden="true" />${name && what ? html`<${PlainText} text=${name} limit=${60} inline /> ${what}…` : "Working…"}</p>`;
}

// A run that is followed: its messages, its work, and the answer as it grows.
function Followed({ known, onChange, onAgain, onRetry }) {
  const { run, picture, error, stream, reload, changed } = useRun(known.id);
  useEffect(() => {
    if (run) onChange(run);
  }, [run]);
  // A run that had ended was retried.
  useEffect(() => {
    if (run && isEnded(run) && !isEnded(known) && known.last_event > run.last_event) changed(known);
  }, [known]);
  if (error) return html`<${Failure} problem=${error} retry=${reload} compact />`;
  if (!run || !picture) return html`<${Loading} text="Loading the conversation…" />`;
  const segments = segmentsOf(picture, run);
  // The run may be known to have ended before its last events are read, and its answer is shown.
  const over = isEnded(run) && (picture.ended !== null || stream === "ended");
  const speaker = picture.nodes[0]?.name ?? run.task;
  const name = picture.live && (picture.asked?.task ?? run.task).split("/").at(-1);
  return html`
    ${segments.map((one, index) => {
      if (one.kind === "work") return html`<${Work} key=${one.key} entries=${one.entries} active=${!over && index === segments.length - 1} />`;
      return html`<${Bubble} key=${one.key} who=${one.kind} document=${one.document} name=${one.kind === "said" ? (one.entry?.node?.name ?? speaker) : null} />`;
    })}
    ${!over && picture.live?.text && html`<${Live} live=${picture.live} name=${name} />`}
    ${!over && stream === "lost" && html`<p class="chat-note" role="status">The connection is lost; the page tries again. The run goes on.</p>`}
    ${!over && html`<${Doing} picture=${picture} run=${run} />`}
    ${over && html`<${End} run=${run} onAgain=${onAgain} onRetry=${onRetry} /><${Under} run=${run} />`}
  `;
}

// A run that had ended when the page was opened: its message and its result, and its work at a click.
function Past({ run, onShow, onAgain, onRetry }) {
  return html`
    <${Bubble} who="you" document=${run.message} />
    <button type="button" class="link chat-show" onClick=${onShow}>Show its work</button>
    ${hasAnswer(run) && html`<${Bubble} who="said" name=${run.task} document=${run.result.document} />`}
    <${End} run=${run} onAgain=${onAgain} onRetry=${onRetry} />
    <${Under} run=${run} />
  `;
}

// One run of the session.
export function Exchange({ run, ...actions }) {
  const [followed, setFollowed] = useState(!isEnded(run));
  useEffect(() => {
    if (!isEnded(run)) setFollowed(true);
  }, [run.status]);
  return html`<li class="exchange" data-run=${run.id}>
    ${followed ? html`<${Followed} known=${run} ...${actions} />` : html`<${Past} run=${run} onShow=${() => setFollowed(true)} ...${actions} />`}
  </li>`;
}
