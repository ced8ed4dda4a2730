import { useCaller } from "../../lib/caller.js";
import { count, money } from "../../lib/format.js";
import { usePaged } from "../../lib/paged.js";
import { html, useState } from "../../lib/preact.js";
import { go, link } from "../../lib/router.js";
import { Empty, Failure, Field, Loading, LoadMore, Table, Time } from "../../parts/index.js";
import { TenantDetail } from "./tenant_detail.js";

function limited(value, shown) {
  return value === null ? html`<span class="absent">none</span>` : html`<span class="number">${shown(value)}</span>`;
}

const COLUMNS = [
  { title: "Tenant", render: (tenant) => html`<a href=${link("administration", ["tenants", tenant.id])}>${tenant.id}</a>` },
  { title: "Cost a day", align: "end", render: (tenant) => limited(tenant.limits.day_max_cost, money) },
  { title: "Cost a month", align: "end", render: (tenant) => limited(tenant.limits.month_max_cost, money) },
  { title: "Requests a minute", align: "end", narrow: false, render: (tenant) => limited(tenant.limits.requests_per_minute, count) },
  { title: "Unfinished runs", align: "end", narrow: false, render: (tenant) => limited(tenant.limits.max_unfinished_runs, count) },
  { title: "Set", narrow: false, render: (tenant) => html`<${Time} iso=${tenant.updated_at} relative />` },
];

function OpenTenant() {
  const [name, setName] = useState("");
  const submit = (event) => {
    event.preventDefault();
    go("administration", ["tenants", name.trim()]);
  };
  return html`<form class="open-tenant" onSubmit=${submit} role="search">
    <${Field} label="Tenant" hideLabel placeholder="Name of a tenant" required value=${name} onInput=${(event) => setName(event.target.value)} />
    <button type="submit">Open</button>
  </form>`;
}

function TenantList() {
  const paged = usePaged("v1/tenants");
  return html`
    <div class="toolbar"><p class="soft">Tenants with limits of their own. All others have those of the settings.</p><${OpenTenant} /></div>
    ${paged.error && html`<${Failure} problem=${paged.error} retry=${paged.reload} compact=${paged.items.length > 0} />`}
    ${!paged.items.length && paged.loading && html`<${Loading} />`}
    ${!paged.items.length && !paged.loading && !paged.error && html`<${Empty} title="No tenant has limits of its own" hint="Open a tenant by its name to see what it has used, and to give it limits." />`}
    ${paged.items.length > 0 && html`<${Table} caption="Tenants" rows=${paged.items} rowKey=${(tenant) => tenant.id} columns=${COLUMNS} />`}
    <${LoadMore} paged=${paged} />
  `;
}

// Operators choose among all tenants; other administrators see their own.
export function Tenants({ parts }) {
  const caller = useCaller();
  const name = parts[0] ?? (caller.operator ? null : caller.tenant);
  if (name === null) return html`<${TenantList} />`;
  return html`
    ${caller.operator && html`<p class="toolbar"><a href=${link("administration", ["tenants"])}>All tenants</a></p>`}
    <${TenantDetail} key=${name} name=${name} />
  `;
}
