import { useCaller } from "../../lib/caller.js";
import { usePaged } from "../../lib/paged.js";
import { html } from "../../lib/preact.js";
import { Empty, Failure, Loading, LoadMore, PlainText, Table, Time } from "../../parts/index.js";

function Outcome({ row }) {
  const tone = row.outcome === "done" ? "good" : "bad";
  return html`<span class="badge ${tone}"><span class="badge-sign" aria-hidden="true" />${row.outcome}${row.status && html`<span class="badge-code">${row.status}</span>`}</span>`;
}

function columns(caller) {
  return [
    { title: "Time", render: (row) => html`<span class="number"><${Time} iso=${row.at} /></span>` },
    { title: "Action", render: (row) => html`<code>${row.action}</code>` },
    { title: "Of", render: (row) => html`<span class="mono small long-name"><${PlainText} inline text=${row.resource ?? "–"} limit=${120} /></span>` },
    { title: "Outcome", render: (row) => html`<${Outcome} row=${row} />` },
    { title: "By", render: (row) => html`<span class="long-name"><${PlainText} inline text=${row.actor} limit=${80} /></span>` },
    ...(caller.operator ? [{ title: "Tenant", render: (row) => row.tenant }] : []),
    { title: "From", narrow: false, render: (row) => row.address ?? "–" },
    { title: "Request", narrow: false, render: (row) => html`<span class="mono faint small"><${PlainText} inline text=${row.request_id ?? "–"} limit=${40} /></span>` },
  ];
}

// Changes and refused changes, newest first.
export function Audit() {
  const caller = useCaller();
  const paged = usePaged("v1/audit", { limit: 50 });
  const hint = caller.authentication === "none" ? "Without authentication nothing is written to it." : "Each change over HTTP, done or refused, has a row here.";
  return html`
    <div class="toolbar"><p class="soft">Who changed what, and what was refused. Rows are never changed.</p><button type="button" disabled=${paged.loading} onClick=${paged.reload}>Refresh</button></div>
    ${paged.error && html`<${Failure} problem=${paged.error} retry=${paged.reload} compact=${paged.items.length > 0} />`}
    ${!paged.items.length && paged.loading && html`<${Loading} />`}
    ${!paged.items.length && !paged.loading && !paged.error && html`<${Empty} title="The audit log is empty" hint=${hint} />`}
    ${paged.items.length > 0 && html`<${Table} caption="Audit log" rows=${paged.items} rowKey=${(row) => row.id} columns=${columns(caller)} />`}
    <${LoadMore} paged=${paged} />
  `;
}
