import { everyItem } from "../lib/api.js";
import { count } from "../lib/format.js";
import { useData } from "../lib/hooks.js";
import { html, useState } from "../lib/preact.js";
import { link } from "../lib/router.js";
import { Empty, Failure, Loading, LoadMore, Page, PlainText, Table, Time } from "../parts/index.js";
import { BatchBadge, ItemsBar, Took, batchName, itemsText, spentText } from "./batches/progress.js";

// Shown at first, and added at a click.
const PAGE = 50;

const COLUMNS = [
  { title: "Batch", render: (batch) => html`<a href=${link("batches", [batch.id])}><${PlainText} inline text=${batchName(batch)} limit=${80} /></a><div class="batch-line small soft"><${BatchBadge} batch=${batch} /> ${batch.task ?? "several tasks"}, <${Time} iso=${batch.created_at} relative /></div>` },
  { title: "Items", render: (batch) => html`<div class="batch-items"><${ItemsBar} batch=${batch} /><span class="small soft">${itemsText(batch)}</span></div>` },
  { title: "Spent", narrow: false, render: (batch) => html`<span class="number">${spentText(batch)}</span>` },
  { title: "Took", narrow: false, render: (batch) => html`<${Took} batch=${batch} />` },
];

// The batches of one's tenant, newest first, live.
export default function BatchesPage() {
  const [most, setMost] = useState(PAGE);
  const { data, error, loading, reload } = useData(({ signal }) => everyItem("v1/batches", { limit: PAGE }, { most, signal }), [most], { every: 3 });
  const items = data ?? [];
  const paged = { items, hasMore: items.length >= most, loading, error, more: () => setMost(most + PAGE), reload };
  return html`<${Page} title="Batches" note=${items.length > 0 && html`<span class="live-dot" aria-hidden="true" />${paged.hasMore ? `The newest ${count(items.length)}` : count(items.length)}`}>
    ${error && html`<${Failure} problem=${error} retry=${reload} compact=${items.length > 0} />`}
    ${!items.length && loading && html`<${Loading} />`}
    ${!items.length && !loading && !error && html`<${Empty} icon="batches" title="No batches yet" hint=${html`A batch is many runs of one task, paid from one budget: send a file with <code>turnwise batch TASK FILE.jsonl</code>.`} />`}
    ${items.length > 0 && html`<${Table} caption="Batches" rows=${items} rowKey=${(batch) => batch.id} columns=${COLUMNS} />`}
    <${LoadMore} paged=${paged} />
  <//>`;
}
