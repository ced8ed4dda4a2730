import { between, duration } from "../../lib/format.js";
import { useNow } from "../../lib/hooks.js";
import { html } from "../../lib/preact.js";
import { link, setQuery } from "../../lib/router.js";
import { Money, PlainText, StatusBadge, Time, Tokens } from "../../parts/index.js";

const FIRST_TAGS = 2;

export function RunsHead({ isAll, isSome, onAll }) {
  return html`<div class="runs-grid runs-head" role="row">
    <span role="columnheader" class="choose"><input type="checkbox" aria-label="Choose all loaded runs" checked=${isAll} indeterminate=${isSome && !isAll} onChange=${(event) => onAll(event.currentTarget.checked)} /></span>
    <span role="columnheader">Status</span>
    <span role="columnheader">Run</span>
    <span role="columnheader" class="tags">Tags</span>
    <span role="columnheader" class="end">Tokens</span>
    <span role="columnheader" class="end">Cost</span>
    <span role="columnheader" class="end">Took</span>
    <span role="columnheader" class="end">Created</span>
  </div>`;
}

// The time that a run took, or takes so far.
function Took({ run }) {
  useNow(run.finished_at ? 3600 : 1);
  return html`<span class="number">${run.started_at ? duration(between(run.started_at, run.finished_at)) : "–"}</span>`;
}

// What a reader wants to know next: why it waits, why it failed, what came out.
function outcome(run) {
  // The hints at commands are for terminals.
  if (run.waiting_for) return run.waiting_for.sentence.replace(/[:,] turnwise [^.]*?(?=\.|$)/, "");
  if (run.error) return run.error.message ?? run.error.type;
  if (run.stopped) return run.stopped.message;
  return run.result?.content ?? "";
}

function Tags({ run }) {
  const more = run.tags.length - FIRST_TAGS;
  return html`
    ${run.tags.slice(0, FIRST_TAGS).map((tag) => html`<button key=${tag} type="button" class="tag" title="Only runs with the tag ${tag}" onClick=${() => setQuery({ tag })}><${PlainText} text=${tag} limit=${40} inline /></button>`)}
    ${more > 0 && html`<span class="faint small" title=${run.tags.slice(FIRST_TAGS).join(", ")}>+${more}</span>`}
  `;
}

export function RunRow({ run, active, chosen, onChoose }) {
  const { prompt_tokens: prompt, completion_tokens: completion, cost } = run.usage;
  const tone = run.error || run.stopped ? "tell-bad" : run.status === "waiting" ? "tell-warning" : "";
  const choose = (event) => onChoose(event.shiftKey);
  return html`<div class="runs-grid runs-row ${active ? "marked" : ""} ${chosen ? "chosen" : ""}" role="presentation">
    <span role="cell" class="choose"><input type="checkbox" aria-label="Choose ${run.id}" checked=${chosen} onClick=${choose} /></span>
    <span role="cell" class="runs-status"><${StatusBadge} status=${run.status} code=${run.status_code} /></span>
    <span role="cell" class="runs-what">
      <span class="runs-first">
        <a class="runs-task" href=${link("runs", [run.id])} title=${run.id}>${run.task}</a>
        <span class="runs-message ellipsis"><${PlainText} inline text=${(run.message?.content ?? "").slice(0, 300)} limit=${300} /></span>
      </span>
      <span class="runs-second ellipsis ${tone}"><${PlainText} inline text=${outcome(run).slice(0, 300)} limit=${300} /></span>
    </span>
    <span role="cell" class="tags"><${Tags} run=${run} /></span>
    <span role="cell" class="end tokens"><${Tokens} value=${prompt + completion} /></span>
    <span role="cell" class="end"><${Money} value=${cost} /></span>
    <span role="cell" class="end"><${Took} run=${run} /></span>
    <span role="cell" class="end soft"><${Time} iso=${run.created_at} relative /></span>
  </div>`;
}
