import { api } from "../../lib/api.js";
import { useData } from "../../lib/hooks.js";
import { useListKeys } from "../../lib/list_keys.js";
import { runPath } from "../../lib/live.js";
import { html, useMemo, useState } from "../../lib/preact.js";
import { go, link } from "../../lib/router.js";
import { Empty, Failure, Field, Icon, Loading, Money, Page, PlainText, StatusBadge, Tokens, VirtualList } from "../../parts/index.js";
import { Conversation } from "./conversation.js";
import { comparable, compared } from "./difference.js";
import { Entry } from "./entries.js";

async function read(id, signal) {
  const [run, transcript] = await Promise.all([api.get(runPath(id), {}, { signal }), api.get(runPath(id, "/transcript"), {}, { signal })]);
  return { run, entries: comparable(Conversation.of(transcript).entries) };
}

function Side({ run, title }) {
  return html`<div class="compare-side">
    <span class="soft small">${title}</span>
    <a class="mono" href=${link("runs", [run.id])}>${run.id}</a>
    <span class="compare-facts"><strong><${PlainText} inline text=${run.task} limit=${60} /></strong><${StatusBadge} status=${run.status} code=${run.status_code} />
      <${Money} value=${run.usage.cost} /><span><${Tokens} value=${run.usage.prompt_tokens + run.usage.completion_tokens} /> tokens</span></span>
  </div>`;
}

function Pair({ pair, isFirst, active }) {
  return html`<div class="pair ${pair.same ? "same" : "parted"} ${isFirst ? "first" : ""} ${active ? "marked" : ""}">
    ${isFirst && html`<p class="pair-note" id="first-difference"><${Icon} name="warning" size="14" />The first difference</p>`}
    <div class="pair-cell">${pair.left ? html`<${Entry} entry=${pair.left} />` : html`<p class="absent">No message here</p>`}</div>
    <div class="pair-cell">${pair.right ? html`<${Entry} entry=${pair.right} />` : html`<p class="absent">No message here</p>`}</div>
  </div>`;
}

const keyOf = (_, index) => index;

function Pairs({ left, right }) {
  const { pairs, first } = useMemo(() => compared(left.entries, right.entries), [left, right]);
  const [active, setActive] = useListKeys({ items: pairs, itemKey: keyOf, noun: "pair", onOpen: () => {} });
  const sentence = first === -1 ? `All ${pairs.length} messages and tasks are the same.` : first === 0 ? "They differ from the beginning." : `The first ${first} messages and tasks are the same.`;
  return html`
    <div class="run-toolbar">
      <span role="status">${sentence}</span>
      <span class="run-toolbar-end">${first > -1 && html`<button type="button" onClick=${() => (setActive(null), setTimeout(() => setActive(first)))}>Go to the first difference</button>`}</span>
    </div>
    ${pairs.length
      ? html`<${VirtualList} class="pairs" label="Both transcripts" items=${pairs} itemKey=${keyOf} estimate=${110} active=${active}
          render=${(pair, index) => html`<${Pair} pair=${pair} isFirst=${index === first} active=${index === active} />`} />`
      : html`<${Empty} title="Neither run has begun" hint="Their messages appear here once they have." />`}
  `;
}

function Choose({ runId }) {
  const [other, setOther] = useState("");
  const { data: run } = useData(({ signal }) => api.get(runPath(runId), {}, { signal }), [], { about: runId });
  const { data: page, error } = useData(({ signal }) => (run ? api.get("v1/runs", { task: run.task, limit: 50 }, { signal }) : null), [], { about: run?.task });
  const others = (page?.items ?? []).filter((one) => one.id !== runId);
  const submit = (event) => {
    event.preventDefault();
    if (other.trim()) go("runs", [runId, "compare", other.trim()]);
  };
  return html`<form class="card compare-choose" onSubmit=${submit}>
    <p>Compare <span class="mono">${runId}</span> with another run: a fork of it, or one of the same task.</p>
    <div class="compare-id"><${Field} label="Id of the other run" placeholder="run_…" value=${other} onInput=${(event) => setOther(event.currentTarget.value)} /><button type="submit" class="primary" disabled=${!other.trim()}>Compare</button></div>
    ${error && html`<${Failure} problem=${error} compact />`}
    ${others.length > 0 && html`<ul class="compare-list">
      ${others.map((one) => html`<li key=${one.id}><a href=${link("runs", [runId, "compare", one.id])}><span class="mono">${one.id}</span></a> <${StatusBadge} status=${one.status} code=${one.status_code} />
        ${one.forked_from?.run === runId && html`<span class="badge active">fork of this run</span>`} <span class="soft ellipsis"><${PlainText} inline text=${one.message?.content ?? ""} limit=${120} /></span></li>`)}
    </ul>`}
  </form>`;
}

// Two runs side by side, message by message, with the first difference marked.
export function ComparePage({ runId, otherId }) {
  const { data, error, reload } = useData(async ({ signal }) => (otherId ? Promise.all([read(runId, signal), read(otherId, signal)]) : null), [], { about: `${runId} ${otherId}` });
  const title = html`<span class="run-title"><a class="run-back" href=${link("runs", [runId])} aria-label="Back to the run"><${Icon} name="left" /></a>Compare two runs</span>`;
  return html`<${Page} title=${title} tab="Compare two runs" fill>
    ${!otherId && html`<${Choose} runId=${runId} />`}
    ${otherId && error && html`<${Failure} problem=${error} retry=${reload} />`}
    ${otherId && !data && !error && html`<${Loading} text="Reading both runs…" />`}
    ${otherId && data && html`<div class="compare">
      <div class="compare-heads"><${Side} run=${data[0].run} title="Left" /><${Side} run=${data[1].run} title="Right" /></div>
      <${Pairs} left=${data[0]} right=${data[1]} />
    </div>`}
  <//>`;
}
