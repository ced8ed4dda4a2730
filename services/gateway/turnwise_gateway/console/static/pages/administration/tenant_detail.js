import { api } from "../../lib/api.js";
import { useCaller } from "../../lib/caller.js";
import { count, money, tokens } from "../../lib/format.js";
import { useData } from "../../lib/hooks.js";
import { html, useState } from "../../lib/preact.js";
import { Bar, Failure, Field, Loading, Time, toast } from "../../parts/index.js";

const LIMITS = [
  { name: "day_max_cost", label: "Cost a day, in $", used: "day_cost", shown: money },
  { name: "month_max_cost", label: "Cost a month, in $", used: "month_cost", shown: money },
  { name: "day_max_tokens", label: "Tokens a day", used: "day_tokens", shown: tokens },
  { name: "month_max_tokens", label: "Tokens a month", used: "month_tokens", shown: tokens },
  { name: "requests_per_minute", label: "Requests a minute", shown: count },
  { name: "max_unfinished_runs", label: "Unfinished runs", shown: count },
];
const BUDGETS = [
  { used: "day_cost", max: "day_max_cost", label: "Cost today", shown: money },
  { used: "month_cost", max: "month_max_cost", label: "Cost this month", shown: money },
  { used: "day_tokens", max: "day_max_tokens", label: "Tokens today", shown: tokens },
  { used: "month_tokens", max: "month_max_tokens", label: "Tokens this month", shown: tokens },
];

function left(used, max, shown) {
  if (max === null) return `${shown(used)}, no limit`;
  const rest = Number(max) - Number(used);
  return `${shown(used)} of ${shown(max)}, ${rest > 0 ? `${shown(rest)} left` : "nothing left"}`;
}

function Budgets({ tenant }) {
  return html`<section class="card budgets" aria-labelledby="tenant-used">
    <h2 id="tenant-used">Used</h2>
    ${BUDGETS.map(({ used, max, label, shown }) => {
      const [spent, most] = [tenant.used[used], tenant.limits[max]];
      return html`<${Bar} key=${used} label=${label} value=${Number(spent)} max=${most === null ? null : Number(most)} text=${left(spent, most, shown)} />`;
    })}
    <p class="field-hint">Days and months are those of UTC. At a limit no further call is made that could go over it.</p>
  </section>`;
}

function inForce(tenant, { name, shown }) {
  const limit = tenant.limits[name];
  const from = tenant.own_limits[name] === null ? " (from the settings)" : "";
  return `${limit === null ? "no limit" : shown(limit)}${from}`;
}

function LimitsShown({ tenant }) {
  return html`<dl class="fact-list">${LIMITS.map((limit) => html`<div key=${limit.name}><dt>${limit.label}</dt><dd>${inForce(tenant, limit)}</dd></div>`)}</dl>`;
}

// As the API takes it: money as text, counts as numbers. What is no number is sent as it is, so that the server says so.
function asSent(name, text) {
  return name.endsWith("_cost") || !Number.isFinite(Number(text)) ? text : Number(text);
}

// The form replaces all limits of the tenant at once, as the API does. A field shows the limit as it is now until something
// is typed there, so that limits which someone else has set meanwhile stay.
function LimitsForm({ tenant, reload }) {
  const [typed, setTyped] = useState({});
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const textOf = (name) => typed[name] ?? String(tenant.own_limits[name] ?? "");
  const submit = async (event) => {
    event.preventDefault();
    const given = LIMITS.map(({ name }) => [name, textOf(name).trim()]).filter(([, text]) => text !== "");
    const body = Object.fromEntries(given.map(([name, text]) => [name, asSent(name, text)]));
    setBusy(true);
    try {
      await api.put(`v1/tenants/${encodeURIComponent(tenant.id)}`, body);
      setProblem(null);
      toast(`The limits of ${tenant.id} are set; in force everywhere within 5 s`, "good");
      await reload();
      // What was typed since stays.
      setTyped((now) => Object.fromEntries(Object.entries(now).filter(([name, text]) => text !== typed[name])));
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return html`<form class="form" onSubmit=${submit} aria-label="Limits of ${tenant.id}">
    <div class="form-grid">
      ${LIMITS.map(({ name, label, ...limit }) => html`<${Field} key=${name} label=${label} inputmode="decimal" placeholder="from the settings" hint="In force: ${inForce(tenant, { name, ...limit })}"
        value=${textOf(name)} onInput=${(event) => setTyped({ ...typed, [name]: event.target.value })} />`)}
    </div>
    <p class="field-hint">An empty field follows the settings. 0 is no limit.</p>
    ${problem && html`<${Failure} problem=${problem} compact />`}
    <div><button type="submit" class="primary" disabled=${busy}>Set these limits</button></div>
  </form>`;
}

// A tenant: what it has used of its budgets, and its limits, which operators change.
export function TenantDetail({ name }) {
  const caller = useCaller();
  const { data, error, loading, reload } = useData(({ signal }) => api.get(`v1/tenants/${encodeURIComponent(name)}`, {}, { signal }), [], { every: 15, about: name });
  return html`
    ${error && html`<${Failure} problem=${error} retry=${reload} compact=${data !== null} />`}
    ${!data && loading && html`<${Loading} />`}
    ${data && html`<div class="admin-cards">
      <${Budgets} tenant=${data} />
      <section class="card" aria-labelledby="tenant-limits">
        <h2 id="tenant-limits">Limits of ${data.id}</h2>
        <p class="soft small">${data.updated_at ? html`Set <${Time} iso=${data.updated_at} relative />` : "It has no limits of its own."}</p>
        ${caller.operator ? html`<${LimitsForm} tenant=${data} reload=${reload} />` : html`<${LimitsShown} tenant=${data} />`}
      </section>
    </div>`}
  `;
}
