import { count } from "../../lib/format.js";
import { html } from "../../lib/preact.js";
import { Bar, Empty, Money, PlainText, Table, Tokens } from "../../parts/index.js";

function sums(rows, name) {
  const made = new Map();
  for (const row of rows) {
    const sum = made.get(row[name]) ?? { name: row[name], cost: 0, tokens: 0, calls: 0 };
    sum.cost += row.cost;
    sum.tokens += row.prompt_tokens + row.completion_tokens;
    sum.calls += row.calls;
    made.set(row[name], sum);
  }
  return [...made.values()].sort((one, other) => other.cost - one.cost || other.tokens - one.tokens);
}

function Shares({ title, rows }) {
  const byCost = rows.some((row) => row.cost > 0);
  const total = rows.reduce((sum, row) => sum + (byCost ? row.cost : row.tokens), 0);
  return html`<section class="card usage-card">
    <h3>${title}</h3>
    ${rows.map((row) => html`<${Bar} key=${row.name} label=${row.name ?? "unknown model"} value=${byCost ? row.cost : row.tokens} max=${total || 1}
      text=${byCost ? html`<${Money} value=${row.cost} />` : html`<${Tokens} value=${row.tokens} />`} />`)}
  </section>`;
}

const COLUMNS = [
  { title: "Task", render: (row) => html`<${PlainText} inline text=${row.task} limit=${120} />` },
  { title: "Model", render: (row) => (row.model ? html`<${PlainText} inline text=${row.model} limit=${80} />` : html`<span class="absent">–</span>`) },
  { title: "Calls", align: "end", render: (row) => count(row.calls) },
  { title: "Tokens in", align: "end", render: (row) => html`<${Tokens} value=${row.prompt_tokens} />` },
  { title: "Cached", align: "end", narrow: false, render: (row) => html`<${Tokens} value=${row.cached_tokens} />` },
  { title: "Out", align: "end", render: (row) => html`<${Tokens} value=${row.completion_tokens} />` },
  { title: "Cost", align: "end", render: (row) => html`<${Money} value=${row.cost} />${row.unpriced_calls > 0 && html` <span class="soft small">+ ${row.unpriced_calls} unpriced</span>`}` },
];

// What the run has used, by task and by model.
export function Usage({ run, picture }) {
  const rows = picture.usage;
  const { usage } = run;
  if (!rows.length) {
    return html`<${Empty} icon="overview" title="Nothing is used yet" hint=${run.forked_from ? "A fork has used nothing of what the other run has paid. Calls of models appear here once they are answered." : "Calls of models appear here once they are answered."} />`;
  }
  return html`<div class="usage">
    <dl class="fact-row card">
      <div><dt>Cost</dt><dd><${Money} value=${usage.cost} /></dd></div>
      <div><dt>Tokens in</dt><dd><${Tokens} value=${usage.prompt_tokens} /></dd></div>
      <div><dt>of them cached</dt><dd><${Tokens} value=${usage.cached_tokens} /></dd></div>
      <div><dt>Tokens out</dt><dd><${Tokens} value=${usage.completion_tokens} /></dd></div>
      <div><dt>Calls</dt><dd>${count(usage.calls)}</dd></div>
      <div><dt>Without a price</dt><dd>${count(usage.unpriced_calls)}</dd></div>
      ${Number(usage.reserved_cost) > 0 && html`<div><dt>Reserved</dt><dd><${Money} value=${usage.reserved_cost} /></dd></div>`}
    </dl>
    <div class="usage-cards">
      <${Shares} title="By task" rows=${sums(rows, "task")} />
      <${Shares} title="By model" rows=${sums(rows, "model")} />
    </div>
    <${Table} caption="Usage by task and model" columns=${COLUMNS} rows=${rows} rowKey=${(row) => `${row.task} ${row.model}`} />
  </div>`;
}
