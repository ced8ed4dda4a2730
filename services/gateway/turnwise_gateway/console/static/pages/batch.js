import { api } from "../lib/api.js";
import { useCaller } from "../lib/caller.js";
import { count, money, tokens } from "../lib/format.js";
import { useData } from "../lib/hooks.js";
import { html } from "../lib/preact.js";
import { link } from "../lib/router.js";
import { Bar, Failure, Loading, Page, PlainText, Time } from "../parts/index.js";
import { BatchActions } from "./batches/actions.js";
import { BatchBadge, ItemsBar, Took, batchName } from "./batches/progress.js";

// Statuses of items that are statuses of runs: the list of runs shows these.
const OF_RUNS = { queued: "queued", running: "running", waiting: "waiting", completed: "completed", failed: "failed", cancelled: "cancelled" };
const NAMES = { not_started: "not started", limited: "ended by a limit", deleted: "deleted" };
const EVERY = 2;

function Counts({ batch }) {
  const found = Object.entries(batch.counts).filter(([, number]) => number > 0);
  return html`<dl class="facts">
    ${found.map(
      ([name, number]) => html`<div key=${name}>
        <dt>${NAMES[name] ?? name}</dt>
        <dd class="number">${OF_RUNS[name] ? html`<a href=${link("runs", [], { batch: batch.id, status: OF_RUNS[name] })} aria-label="${count(number)} ${name}: list the runs">${count(number)}</a>` : count(number)}</dd>
      </div>`,
    )}
  </dl>`;
}

function Spent({ usage, budget }) {
  const used = usage.prompt_tokens + usage.completion_tokens;
  const cost = budget.max_cost === null ? money(usage.cost) : `${money(usage.cost)} of ${money(budget.max_cost)}`;
  return html`
    <${Bar} label="Cost" value=${usage.cost} max=${budget.max_cost ?? 0} text=${cost} />
    <${Bar} label="Tokens" value=${used} max=${budget.max_tokens ?? 0} text=${budget.max_tokens === null ? tokens(used) : `${tokens(used)} of ${tokens(budget.max_tokens)}`} />
  `;
}

function Facts({ batch }) {
  const rows = [
    ["Task", batch.task ? html`<a href=${link("tasks", [batch.task])}>${batch.task}</a>` : "several"],
    ["Id", html`<code>${batch.id}</code>`],
    ["Opened", html`<${Time} iso=${batch.created_at} />`],
    ["Took", html`<${Took} batch=${batch} />`],
    ["At a time", count(batch.concurrency)],
  ];
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function Hint({ batch }) {
  if (batch.expired_at) return html`<p class="soft">It was not sealed in time: more items may have been meant to come.</p>`;
  if (batch.stopped) return html`<p class="soft">The limit of ${batch.stopped} was reached, and no further item begins. Retry it with a higher limit: <code>turnwise batch … --retry-failed --max-cost USD</code>.</p>`;
  return batch.status === "open" ? html`<p class="soft">It takes further items until its client seals it.</p>` : null;
}

function Content({ batch }) {
  return html`<div class="batch-page">
    <section class="card" aria-labelledby="batch-items"><h2 id="batch-items">Progress</h2><${ItemsBar} batch=${batch} /><${Counts} batch=${batch} /><${Hint} batch=${batch} /><a href=${link("runs", [], { batch: batch.id })}>All its runs</a></section>
    <section class="card" aria-labelledby="batch-spent"><h2 id="batch-spent">Spent</h2><${Spent} usage=${batch.usage} budget=${batch.budget} /></section>
    <section class="card" aria-labelledby="batch-about"><h2 id="batch-about">About</h2><${Facts} batch=${batch} /></section>
  </div>`;
}

// One batch, live while it works.
export default function BatchPage({ route }) {
  const [id] = route.parts;
  const mayWrite = useCaller().scopes.includes("runs:write");
  const { data: batch, error, loading, reload } = useData(({ signal }) => api.get(`v1/batches/${encodeURIComponent(id)}`, {}, { signal }), [], { every: EVERY, about: id });
  const actions = batch && html`<${BatchActions} batch=${batch} mayWrite=${mayWrite} reload=${reload} />`;
  return html`<${Page} title=${batch ? html`<${PlainText} inline text=${batchName(batch)} limit=${200} />` : "Batch"} tab=${`Batch ${batch ? batchName(batch) : ""}`} note=${batch && html`<${BatchBadge} batch=${batch} />`} actions=${actions}>
    <p><a href=${link("batches")}>All batches</a></p>
    ${error && html`<${Failure} problem=${error} retry=${reload} compact=${batch !== null} />`}
    ${!batch && loading && html`<${Loading} />`}
    ${batch && html`<${Content} batch=${batch} />`}
  <//>`;
}
