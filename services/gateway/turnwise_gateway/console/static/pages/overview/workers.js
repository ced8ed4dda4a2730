import { api } from "../../lib/api.js";
import { count } from "../../lib/format.js";
import { useData } from "../../lib/hooks.js";
import { html, useState } from "../../lib/preact.js";
import { Empty, Failure, Loading, StatusBadge, Table, Time } from "../../parts/index.js";

// The worst first: those that need someone to look at them.
const ORDER = ["deaf", "draining", "alive"];
const isLiving = (worker) => ORDER.includes(worker.state);

function Versions({ workers }) {
  const versions = new Map();
  for (const { version } of workers) versions.set(version, (versions.get(version) ?? 0) + 1);
  if (versions.size < 2) return null;
  const told = [...versions].map(([version, number]) => `${version}: ${number}`).join(", ");
  return html`<p class="notice">Processes of ${versions.size} versions of the application are alive (${told}).</p>`;
}

const COLUMNS = [
  { title: "Process", render: (worker) => html`<strong>${worker.kind}</strong> <span class="faint small">${worker.host} · ${worker.pid}</span>` },
  { title: "State", render: (worker) => html`<${StatusBadge} status=${worker.state} />` },
  { title: "Queues", narrow: false, render: (worker) => html`<span class="pills">${worker.queues.map((queue) => html`<span key=${queue} class="tag">${queue}</span>`)}</span>` },
  { title: "Version", narrow: false, render: (worker) => worker.version },
  { title: "In flight", align: "end", render: (worker) => html`<span class="number">${count(worker.leased)}</span>` },
  { title: "Heard from", narrow: false, render: (worker) => html`<span class="number"><${Time} iso=${worker.beat_at} relative /></span>` },
  { title: "Since", narrow: false, render: (worker) => html`<span class="number"><${Time} iso=${worker.started_at} relative /></span>` },
];

// The processes that work. Those that ended are shown on demand.
export function Workers() {
  const { data, error, loading, reload } = useData(({ signal }) => api.get("v1/workers", {}, { signal }), [], { every: 10 });
  const [all, setAll] = useState(false);
  const workers = data?.items ?? [];
  const living = workers.filter(isLiving).sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
  const ended = workers.filter((worker) => !isLiving(worker));
  const rows = all ? [...living, ...ended.slice(0, 100)] : living;
  return html`<div class="overview-wide">
    <div class="toolbar"><h2>Workers</h2>
      ${ended.length > 0 && html`<button type="button" class="link" aria-pressed=${all} onClick=${() => setAll(!all)}>${all ? "Hide" : "Show"} the ${count(ended.length)} that ended</button>`}
    </div>
    ${error && html`<${Failure} problem=${error} retry=${reload} compact />`}
    ${!data && loading && html`<${Loading} />`}
    ${data && html`<${Versions} workers=${living} />`}
    ${data && !rows.length && html`<div class="card"><${Empty} title="No process works" hint="Start one with turnwise up, or coordinators and workers of their own." /></div>`}
    ${rows.length > 0 && html`<${Table} caption="Workers" rows=${rows} rowKey=${(worker) => worker.id} columns=${COLUMNS} />`}
  </div>`;
}
