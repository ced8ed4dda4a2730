import { useCaller } from "../lib/caller.js";
import { html } from "../lib/preact.js";
import { go } from "../lib/router.js";
import { Page, Tabs } from "../parts/index.js";
import { Audit } from "./administration/audit.js";
import { Keys } from "./administration/keys.js";
import { Pauses } from "./administration/pauses.js";
import { Schedules } from "./administration/schedules.js";
import { Tenants } from "./administration/tenants.js";
import { Usage } from "./administration/usage.js";
import { Webhooks } from "./administration/webhooks.js";

const TABS = [
  { id: "keys", title: "Keys", shows: Keys },
  { id: "tenants", title: "Tenants", shows: Tenants },
  { id: "schedules", title: "Schedules", shows: Schedules },
  { id: "webhooks", title: "Webhooks", shows: Webhooks },
  { id: "pauses", title: "Pauses", shows: Pauses },
  { id: "usage", title: "Usage", shows: Usage },
  { id: "audit", title: "Audit log", shows: Audit },
];

// Keys, limits, schedules, webhooks, pauses, spending and who did what: of one's own tenant, and for operators of all.
export default function AdministrationPage({ route }) {
  const caller = useCaller();
  const free = caller.authentication === "none";
  const [selected = free ? "usage" : "keys", ...parts] = route.parts;
  const tabs = TABS.map(({ id, title, shows: Shown }) => ({ id, title, render: () => html`<${Shown} parts=${parts} query=${route.query} />` }));
  const note = free ? "Everyone on this machine may do this" : caller.operator ? "All tenants: you are an operator" : `The tenant ${caller.tenant}`;
  return html`<${Page} title="Administration" note=${note}>
    <${Tabs} label="Administration" tabs=${tabs} selected=${selected} onSelect=${(id) => go("administration", [id])} />
  <//>`;
}
