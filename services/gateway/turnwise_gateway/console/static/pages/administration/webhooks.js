import { api } from "../../lib/api.js";
import { count } from "../../lib/format.js";
import { usePaged } from "../../lib/paged.js";
import { html, useState } from "../../lib/preact.js";
import { link } from "../../lib/router.js";
import { confirm, Empty, Failure, Loading, LoadMore, PlainText, SecretDialog, Table, Time, toast } from "../../parts/index.js";
import { NewWebhook } from "./new_webhook.js";
import { WebhookDetail } from "./webhook_detail.js";

function WebhookState({ of: webhook }) {
  const gone = webhook.disabled_reason === "gone";
  const [text, tone] = webhook.active ? ["Active", "good"] : gone ? ["Disabled: it answered 410", "bad"] : ["Disabled", "quiet"];
  return html`<span class="badge ${tone}"><span class="badge-sign" aria-hidden="true" />${text}</span>`;
}

async function forget(webhook, reload) {
  const body = html`<p><${PlainText} inline text=${webhook.url} limit=${200} /> gets no more events, and what was or is to be sent to it is forgotten.</p>`;
  if (!(await confirm({ title: "Delete this webhook?", body, action: "Delete", danger: true }))) return;
  try {
    await api.delete(`v1/webhooks/${webhook.id}`);
    toast("The webhook is deleted", "good");
  } catch (problem) {
    toast(problem.detail, "bad");
  }
  reload();
}

async function enable(webhook, active, reload) {
  try {
    await api.patch(`v1/webhooks/${webhook.id}`, { active });
    toast(active ? "The webhook gets what happens from now on" : "The webhook is disabled", "good");
  } catch (problem) {
    toast(problem.detail, "bad");
  }
  reload();
}

function columns(reload) {
  return [
    { title: "Receiver", render: (webhook) => html`<a class="long-name" href=${link("administration", ["webhooks", webhook.id])}><${PlainText} inline text=${webhook.url} limit=${200} /></a>${webhook.description && html`<div class="small soft"><${PlainText} text=${webhook.description} limit=${300} /></div>`}` },
    { title: "State", render: (webhook) => html`<${WebhookState} of=${webhook} />` },
    { title: "Events", narrow: false, render: (webhook) => html`<span class="key-scopes">${webhook.events.map((type) => html`<span key=${type} class="tag">${type}</span>`)}</span>` },
    { title: "To be sent", narrow: false, align: "end", render: (webhook) => html`<span class="number">${count(webhook.pending)}</span>` },
    { title: "Given up", narrow: false, align: "end", render: (webhook) => html`<span class="number">${count(webhook.parked)}</span>` },
    { title: "Made", narrow: false, render: (webhook) => html`<span class="number"><${Time} iso=${webhook.created_at} relative /></span> <span class="faint">by <${PlainText} inline text=${webhook.created_by} limit=${100} /></span>` },
    {
      title: "Actions",
      align: "end",
      render: (webhook) => html`<span class="row-actions">
        <button type="button" aria-label="${webhook.active ? "Disable" : "Enable"} ${webhook.id}" onClick=${() => enable(webhook, !webhook.active, reload)}>${webhook.active ? "Disable" : "Enable"}</button>
        <button type="button" aria-label="Delete ${webhook.id}" onClick=${() => forget(webhook, reload)}>Delete</button>
      </span>`,
    },
  ];
}

function WebhookList() {
  const paged = usePaged("v1/webhooks");
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState(null);
  // Also without an answer a webhook may have been made.
  const closed = () => {
    setMaking(false);
    paged.reload();
  };
  const kept = (webhook) => {
    closed();
    setMade(webhook);
  };
  return html`
    <div class="toolbar"><p class="soft">Servers of your own that are told of events of all runs. A run can have a webhook of its own as well.</p><button type="button" class="primary" onClick=${() => setMaking(true)}>New webhook</button></div>
    ${paged.error && html`<${Failure} problem=${paged.error} retry=${paged.reload} compact=${paged.items.length > 0} />`}
    ${!paged.items.length && paged.loading && html`<${Loading} />`}
    ${!paged.items.length && !paged.loading && !paged.error && html`<${Empty} title="No webhooks" hint="A webhook tells a server of yours of events, so that it need not ask again and again." />`}
    ${paged.items.length > 0 && html`<${Table} caption="Webhooks" rows=${paged.items} rowKey=${(webhook) => webhook.id} columns=${columns(paged.reload)} />`}
    <${LoadMore} paged=${paged} />
    ${making && html`<${NewWebhook} onClose=${closed} onMade=${kept} />`}
    ${made && html`<${SecretDialog} title="The secret of the webhook" text=${made.secret} onClose=${() => setMade(null)}>
      <p>Give it to the receiver, which checks the signatures with it.</p>
    <//>`}
  `;
}

// The receivers of a tenant's events, and what was sent to one of them.
export function Webhooks({ parts }) {
  if (!parts.length) return html`<${WebhookList} />`;
  return html`
    <p class="toolbar"><a href=${link("administration", ["webhooks"])}>All webhooks</a></p>
    <${WebhookDetail} key=${parts[0]} id=${parts[0]} />
  `;
}
