import { api } from "../lib/api.js";
import { useCaller } from "../lib/caller.js";
import { useData } from "../lib/hooks.js";
import { html } from "../lib/preact.js";
import { setQuery } from "../lib/router.js";
import { Empty, Failure, Field, Loading, Page } from "../parts/index.js";
import { Charts } from "./overview/charts.js";
import { Figures } from "./overview/figures.js";
import { Providers } from "./overview/providers.js";
import { Queues } from "./overview/queues.js";
import { Spenders } from "./overview/spenders.js";
import { Workers } from "./overview/workers.js";

const WINDOWS = {
  "15m": { text: "15 minutes", seconds: 900 },
  "1h": { text: "An hour", seconds: 3600 },
  "6h": { text: "6 hours", seconds: 21_600 },
  "1d": { text: "A day", seconds: 86_400 },
  "7d": { text: "7 days", seconds: 604_800 },
};

function Choices({ within, fleet, operator }) {
  return html`<div class="overview-choices">
    <${Field} label="Time" hideLabel as="select" value=${within} onChange=${(event) => setQuery({ time: event.target.value === "1h" ? null : event.target.value })}>
      ${Object.entries(WINDOWS).map(([id, { text }]) => html`<option key=${id} value=${id}>${text}</option>`)}
    <//>
    ${operator && html`<${Field} label="Tenants" hideLabel as="select" value=${fleet ? "all" : "own"} onChange=${(event) => setQuery({ tenants: event.target.value === "all" ? null : "own" })}>
      <option value="all">All tenants</option>
      <option value="own">My tenant</option>
    <//>`}
  </div>`;
}

function Series({ seconds, fleet }) {
  const ask = ({ signal }) => api.get("v1/series", { since: new Date(Date.now() - seconds * 1000).toISOString(), fleet: fleet || null }, { signal });
  // The longer the time, the more samples are read and the less the picture changes.
  const { data, error, loading, reload } = useData(ask, [seconds, fleet], { every: Math.max(10, Math.min(120, seconds / 720)) });
  return html`
    ${error && html`<${Failure} problem=${error} retry=${reload} compact=${data !== null} />`}
    ${!data && loading && html`<${Loading} />`}
    ${data && !data.points.length && html`<div class="card charts-empty"><${Empty} icon="overview" title="No samples of this time" hint="A coordinator takes one every TURNWISE_SAMPLE_SECONDS (10, or 0 for none); the first appears soon after it was started." /></div>`}
    ${data && data.points.length > 0 && html`<${Figures} series=${data} /><${Charts} series=${data} />`}
  `;
}

// The work of the installation: over time, who waits for what, who does it, and what it costs.
export default function OverviewPage({ route }) {
  const caller = useCaller();
  const within = WINDOWS[route.query.get("time")] ? route.query.get("time") : "1h";
  const fleet = caller.operator && route.query.get("tenants") !== "own";
  const note = fleet ? "All tenants" : `The tenant ${caller.tenant}`;
  return html`<${Page} title="Overview" note=${note} actions=${html`<${Choices} within=${within} fleet=${fleet} operator=${caller.operator} />`}>
    <${Series} seconds=${WINDOWS[within].seconds} fleet=${fleet} />
    <div class="overview-parts">
      <${Queues} fleet=${fleet} operator=${caller.operator} />
      ${caller.operator && html`<${Workers} />`}
      <${Providers} fleet=${fleet} />
      <${Spenders} fleet=${fleet} />
    </div>
  <//>`;
}
