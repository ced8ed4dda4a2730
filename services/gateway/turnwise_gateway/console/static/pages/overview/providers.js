import { api } from "../../lib/api.js";
import { count, duration, shortId, tokens } from "../../lib/format.js";
import { useData } from "../../lib/hooks.js";
import { html } from "../../lib/preact.js";
import { link } from "../../lib/router.js";
import { Bar, Empty, Failure, Loading, PlainText, Time } from "../../parts/index.js";

const REASON = { outage: "Does not answer", requests: "No requests left", tokens: "No tokens left", concurrency: "All calls taken" };

function State({ of: provider }) {
  const closed = provider.closed_for;
  const tone = closed === "outage" ? "bad" : closed ? "warning" : "good";
  return html`<span class="badge ${tone}"><span class="badge-sign" aria-hidden="true" />${closed ? (REASON[closed] ?? closed) : "Open"}</span>`;
}

function Waiting({ of: provider }) {
  if (!provider.waiting) return html`<p class="soft small">No ask waits for it.</p>`;
  const tenants = Object.entries(provider.tenants);
  return html`<p class="small">
    <strong>${count(provider.waiting)}</strong> ${provider.waiting === 1 ? "ask waits" : "asks wait"} for it, the oldest for ${duration(provider.oldest_age)}
    ${tenants.length > 0 && html`: ${tenants.slice(0, 8).map(([tenant, number]) => html`<a key=${tenant} class="tag" href=${link("runs", [], { tenant, status: "waiting" })}>${tenant} ${count(number)}</a> `)}`}
    ${provider.runs.length > 0 && html`: ${provider.runs.map((run) => html`<a key=${run} class="mono number" href=${link("runs", [run])}>${shortId(run)}</a> `)}`}
  </p>`;
}

function Provider({ of: provider }) {
  const { limits, used } = provider;
  const within = limits.window === 60 ? "a minute" : duration(limits.window);
  return html`<li class="card">
    <div class="toolbar">
      <h3><${PlainText} inline text=${provider.model} limit=${80} /> <span class="faint small">${provider.server}</span></h3>
      <${State} of=${provider} />
    </div>
    ${limits.requests !== null && html`<${Bar} label="Requests in ${within}" value=${used.requests} max=${limits.requests} text="${count(used.requests)} of ${count(limits.requests)}" />`}
    ${limits.tokens !== null && html`<${Bar} label="Tokens in ${within}" value=${used.tokens} max=${limits.tokens} text="${tokens(used.tokens)} of ${tokens(limits.tokens)}" />`}
    ${limits.concurrency !== null && html`<${Bar} label="Calls at a time" value=${used.concurrency} max=${limits.concurrency} text="${count(used.concurrency)} of ${count(limits.concurrency)}" />`}
    ${provider.closed_until && html`<p class="small soft">The next ask is let through <${Time} iso=${provider.closed_until} relative />.</p>`}
    <${Waiting} of=${provider} />
  </li>`;
}

// The providers of models that have limits or do not answer, and who waits for them.
export function Providers({ fleet }) {
  const { data, error, loading, reload } = useData(({ signal }) => api.get("v1/providers", { fleet: fleet || null }, { signal }), [fleet], { every: 5 });
  return html`<section aria-labelledby="overview-providers">
    <h2 id="overview-providers">Provider limits</h2>
    ${error && html`<${Failure} problem=${error} retry=${reload} compact />`}
    ${!data && loading && html`<${Loading} />`}
    ${data && !data.items.length && html`<div class="card"><${Empty} title="No limits are known" hint="Models are called without waiting. Configure requests_per_minute, tokens_per_minute or max_concurrency of a model, or let its provider announce them." /></div>`}
    <ul class="providers">${data?.items.map((provider) => html`<${Provider} key=${`${provider.server} ${provider.model} ${provider.account}`} of=${provider} />`)}</ul>
  </section>`;
}
