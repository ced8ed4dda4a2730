import { between, duration } from "../../lib/format.js";
import { usePaged } from "../../lib/paged.js";
import { html } from "../../lib/preact.js";
import { Empty, Failure, Loading, LoadMore, Money, StatusBadge, Table, Time, Tokens } from "../../parts/index.js";
import { parametersOf } from "./filters.js";

function about(run) {
  if (run.waits_for) return `waits: ${run.waits_for}`;
  return [run.error_kind, run.error_code].filter(Boolean).join(", ");
}

const COLUMNS = [
  { title: "Status", render: (run) => html`<${StatusBadge} status=${run.status} code=${run.status_code} />` },
  { title: "Run", render: (run) => html`<strong>${run.task}</strong> <span class="faint small">${about(run)}</span><div class="mono faint small outline-id">${run.id}</div>` },
  { title: "Tokens", align: "end", narrow: false, render: (run) => html`<${Tokens} value=${run.usage.prompt_tokens + run.usage.completion_tokens} />` },
  { title: "Cost", align: "end", render: (run) => html`<${Money} value=${run.usage.cost} />` },
  { title: "Took", align: "end", narrow: false, render: (run) => html`<span class="number">${run.started_at ? duration(between(run.started_at, run.finished_at)) : "–"}</span>` },
  { title: "Created", align: "end", narrow: false, render: (run) => html`<span class="number"><${Time} iso=${run.created_at} relative /></span>` },
];

// The runs of another tenant, for operators: how they stand and what they cost. What is in them is the tenant's alone.
export function Outlines({ filters }) {
  const { status, task, created_after, created_before } = parametersOf(filters);
  const path = `v1/tenants/${encodeURIComponent(filters.tenant)}/runs`;
  const paged = usePaged(path, { params: { status, task, created_after, created_before }, deps: [JSON.stringify(filters)] });
  return html`
    <div class="toolbar notice"><span>Outlines of the runs of <strong>${filters.tenant}</strong>: what is in them is the tenant's alone.</span>
      <button type="button" disabled=${paged.loading} onClick=${paged.reload}>Refresh</button></div>
    ${paged.error && html`<${Failure} problem=${paged.error} retry=${paged.reload} compact />`}
    ${!paged.items.length && paged.loading && html`<${Loading} />`}
    ${!paged.items.length && !paged.loading && !paged.error && html`<${Empty} icon="search" title="No run matches" hint="This tenant has no such run, or there is no tenant of this name." />`}
    ${paged.items.length > 0 && html`<${Table} caption="Outlines of runs" rows=${paged.items} rowKey=${(run) => run.id} columns=${COLUMNS} />`}
    <${LoadMore} paged=${paged} />
  `;
}
