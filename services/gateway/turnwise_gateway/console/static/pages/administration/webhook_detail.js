import { usePaged } from "../../lib/paged.js";
import { html } from "../../lib/preact.js";
import { link } from "../../lib/router.js";
import { Empty, Failure, Loading, LoadMore, PlainText, Table, Time, toast, useAction } from "../../parts/index.js";

const TONES = { delivered: "good", parked: "bad", pending: "quiet" };
const STATES = { delivered: "Delivered", parked: "Given up", pending: "To be sent" };

function LastAnswer({ of: delivery }) {
  if (!delivery.attempts) return html`<span class="absent">none yet</span>`;
  const said = delivery.error ?? delivery.response ?? "";
  return html`${delivery.status_code && html`<span class="number">${delivery.status_code} </span>`}<span class="small soft"><${PlainText} inline text=${said} limit=${160} /></span>`;
}

function columns(again, busy) {
  return [
    { title: "Event", render: (delivery) => html`<code>${delivery.type}</code>` },
    { title: "Run", render: (delivery) => (delivery.run ? html`<a class="mono small" href=${link("runs", [delivery.run])}>${delivery.run}</a>` : html`<span class="absent">a test</span>`) },
    { title: "State", render: (delivery) => html`<span class="badge ${TONES[delivery.state] ?? "quiet"}"><span class="badge-sign" aria-hidden="true" />${STATES[delivery.state] ?? delivery.state}</span>` },
    { title: "Attempts", align: "end", render: (delivery) => html`<span class="number">${delivery.attempts}</span>` },
    { title: "Last answer", narrow: false, render: (delivery) => html`<${LastAnswer} of=${delivery} />` },
    { title: "Next attempt", narrow: false, render: (delivery) => (delivery.next_attempt_at ? html`<span class="number"><${Time} iso=${delivery.next_attempt_at} relative /></span>` : html`<span class="absent">none</span>`) },
    { title: "Made", narrow: false, render: (delivery) => html`<span class="number"><${Time} iso=${delivery.created_at} relative /></span>` },
    { title: "Actions", align: "end", render: (delivery) => delivery.state !== "pending" && html`<button type="button" aria-label="Send ${delivery.id} again" disabled=${busy} onClick=${() => again(delivery)}>Send again</button>` },
  ];
}

// What was, or is to be, sent to one receiver.
export function WebhookDetail({ id }) {
  const path = `v1/webhooks/${encodeURIComponent(id)}`;
  const paged = usePaged(`${path}/deliveries`);
  const { busy, send } = useAction({ inToast: true });
  const ask = async (below, told) => {
    const answer = await send("post", `${path}${below}`);
    if (answer) toast(told(answer), "good");
    paged.reload();
  };
  const test = () => ask("/test", () => "A test is on its way");
  const replay = () => ask("/replay", (answer) => `${answer.replayed} are sent again`);
  const again = (delivery) => ask(`/deliveries/${delivery.id}/replay`, () => "It is sent again, under its id");
  return html`
    <div class="toolbar"><p class="soft">Deliveries, newest first. One is tried for a day, then given up until someone has it sent again.</p>
      <span class="toolbar-end">
        <button type="button" onClick=${paged.reload}>Refresh</button>
        <button type="button" disabled=${busy} onClick=${test}>Send a test</button>
        <button type="button" disabled=${busy} onClick=${replay}>Send all that were given up</button>
      </span>
    </div>
    ${paged.error && html`<${Failure} problem=${paged.error} retry=${paged.reload} compact=${paged.items.length > 0} />`}
    ${!paged.items.length && paged.loading && html`<${Loading} />`}
    ${!paged.items.length && !paged.loading && !paged.error && html`<${Empty} title="Nothing was sent yet" hint="Send a test to see whether the receiver answers." />`}
    ${paged.items.length > 0 && html`<${Table} caption="Deliveries" rows=${paged.items} rowKey=${(delivery) => delivery.id} columns=${columns(again, busy)} />`}
    <${LoadMore} paged=${paged} />
  `;
}
