import { api } from "../../lib/api.js";
import { useCaller } from "../../lib/caller.js";
import { count, money, tokens } from "../../lib/format.js";
import { useData } from "../../lib/hooks.js";
import { html } from "../../lib/preact.js";
import { setQuery } from "../../lib/router.js";
import { Bar, Empty, Failure, Field, Loading, Money, PlainText, Table, Tokens, TypedField } from "../../parts/index.js";

// The first and the last day of a month, "2026-11"; days are those of UTC.
function daysOf(month) {
  const [year, number] = month.split("-").map(Number);
  return { first: `${month}-01`, last: new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10) };
}

const tokensOf = (row) => row.prompt_tokens + row.completion_tokens;

// Rows added up by what `keyOf` gives; money is added as millionths of a cent, so that sums are exact enough to show.
function addedUp(rows, keyOf) {
  const sums = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    const sum = sums.get(key) ?? { ...row, key, cost: 0, calls: 0, unpriced_calls: 0, prompt_tokens: 0, completion_tokens: 0 };
    sum.cost += Number(row.cost);
    for (const name of ["calls", "unpriced_calls", "prompt_tokens", "completion_tokens"]) sum[name] += row[name];
    sums.set(key, sum);
  }
  return [...sums.values()];
}

const COLUMNS = [
  { title: "Task", render: (row) => html`<${PlainText} inline text=${row.task} limit=${80} />` },
  { title: "Model", render: (row) => html`<${PlainText} inline text=${row.model || "not known"} limit=${80} />` },
  { title: "Calls", align: "end", narrow: false, render: (row) => html`<span class="number">${count(row.calls)}</span>` },
  { title: "Tokens", align: "end", render: (row) => html`<${Tokens} value=${tokensOf(row)} />` },
  { title: "Cost", align: "end", render: (row) => html`<${Money} value=${String(row.cost)} />${row.unpriced_calls > 0 && html` <span class="faint" title="${row.unpriced_calls} calls of unknown price">+?</span>`}` },
];

function Figures({ total }) {
  const figures = [
    ["Cost", money(total.cost)],
    ["Tokens", tokens(tokensOf(total))],
    ["From caches", tokens(total.cached_tokens)],
    ["Calls", count(total.calls)],
    ["Calls of unknown price", count(total.unpriced_calls)],
  ];
  return html`<dl class="figures">${figures.map(([name, value]) => html`<div key=${name} class="card"><dt>${name}</dt><dd class="number">${value}</dd></div>`)}</dl>`;
}

function Report({ report }) {
  const days = addedUp(report.items, (row) => row.day);
  const most = Math.max(...days.map((day) => day.cost));
  const parts = addedUp(report.items, (row) => `${row.task} ${row.model}`).sort((one, other) => other.cost - one.cost || tokensOf(other) - tokensOf(one));
  return html`
    <${Figures} total=${report.total} />
    <div class="admin-cards">
      <section class="card" aria-labelledby="usage-days">
        <h2 id="usage-days">By day</h2>
        ${days.map((day) => html`<${Bar} key=${day.key} label=${day.key} value=${day.cost} max=${most || null} text=${`${money(String(day.cost))} · ${tokens(tokensOf(day))} tokens`} plain />`)}
      </section>
      <section aria-labelledby="usage-parts">
        <h2 id="usage-parts" class="visually-hidden">By task and model</h2>
        <${Table} caption="Usage by task and model" rows=${parts} rowKey=${(row) => row.key} columns=${COLUMNS} />
      </section>
    </div>
  `;
}

// A tenant's spending in a month. What the address names is kept there: `?month=2026-11&tenant=acme`.
export function Usage({ query }) {
  const caller = useCaller();
  const month = query.get("month") ?? new Date().toISOString().slice(0, 7);
  const tenant = (caller.operator && query.get("tenant")) || caller.tenant;
  const allowed = caller.scopes.includes("runs:read");
  const { data, error, loading, reload } = useData(
    ({ signal }) => (allowed ? api.get("v1/usage", { ...daysOf(month), tenant }, { signal }) : null),
    [allowed],
    { every: 30, about: `${tenant} ${month}` },
  );
  if (!allowed) return html`<${Empty} title="Usage needs another scope" hint="Sign in with a key that has the scope runs:read as well. What is left of budgets is shown under Tenants." />`;
  return html`
    <div class="toolbar form-row">
      <${Field} label="Month (UTC)" type="month" value=${month} onChange=${(event) => event.target.value && setQuery({ month: event.target.value })} />
      ${caller.operator && html`<${TypedField} label="Tenant" value=${tenant} onSet=${(text) => setQuery({ tenant: text })} />`}
    </div>
    ${error && html`<${Failure} problem=${error} retry=${reload} compact=${data !== null} />`}
    ${!data && loading && html`<${Loading} />`}
    ${data && !data.items.length && html`<${Empty} title="Nothing was used" hint="No model was called for ${tenant} in this month." />`}
    ${data && data.items.length > 0 && html`<${Report} report=${data} />`}
  `;
}
