import { api } from "../../lib/api.js";
import { count, money, tokens } from "../../lib/format.js";
import { useData } from "../../lib/hooks.js";
import { html, useState } from "../../lib/preact.js";
import { Bar, Failure, Loading, Tabs } from "../../parts/index.js";

function Ranking({ by, fleet }) {
  const { data, error, loading, reload } = useData(({ signal }) => api.get("v1/usage/top", { by, fleet: fleet || null, limit: 8 }, { signal }), [by, fleet], { every: 30 });
  if (!data) return error ? html`<${Failure} problem=${error} retry=${reload} compact />` : loading && html`<${Loading} />`;
  const tokensOf = (row) => row.prompt_tokens + row.completion_tokens;
  const costs = data.items.some((row) => Number(row.cost) > 0);
  const size = (row) => (costs ? Number(row.cost) : tokensOf(row));
  const most = Math.max(0, ...data.items.map(size));
  return html`
    ${error && html`<${Failure} problem=${error} retry=${reload} compact />`}
    ${!data.items.length && html`<p class="soft">No model was called this month.</p>`}
    ${data.items.map((row) => {
      const text = `${money(row.cost)} · ${tokens(tokensOf(row))} tokens · ${count(row.calls)} calls`;
      return html`<${Bar} key=${row.name} label=${row.name || "not known"} value=${size(row)} max=${most || null} text=${text} plain />`;
    })}
  `;
}

// What cost the most this month: by task, by model, and for operators by tenant.
export function Spenders({ fleet }) {
  const [by, setBy] = useState("task");
  const kinds = [["task", "Tasks"], ["model", "Models"], ...(fleet ? [["tenant", "Tenants"]] : [])];
  const tabs = kinds.map(([id, title]) => ({ id, title, render: () => html`<${Ranking} by=${id} fleet=${fleet} />` }));
  return html`<section aria-labelledby="overview-spenders">
    <h2 id="overview-spenders">Top spenders <span class="faint small">this month (UTC)</span></h2>
    <div class="card spenders"><${Tabs} label="Spenders" tabs=${tabs} selected=${by} onSelect=${setBy} /></div>
  </section>`;
}
