import { useCaller } from "../lib/caller.js";
import { count } from "../lib/format.js";
import { useListKeys } from "../lib/list_keys.js";
import { html, useMemo } from "../lib/preact.js";
import { go, setQuery } from "../lib/router.js";
import { Empty, Failure, Loading, Page, VirtualList } from "../parts/index.js";
import { Filters, filtersIn, parametersOf } from "./runs/filters.js";
import { useLiveList } from "./runs/live_list.js";
import { Outlines } from "./runs/outlines.js";
import { RunRow, RunsHead } from "./runs/row.js";
import { SelectionBar, useChosen } from "./runs/selection.js";

const keyOf = (run) => run.id;

function Nothing({ filters }) {
  if (Object.keys(filters).length === 0) {
    return html`<${Empty} icon="runs" title="No runs yet" hint=${html`A run appears here as soon as one is accepted: start one with <code>turnwise submit TASK "a message"</code>, or with <code>POST /v1/runs</code>.`} />`;
  }
  const clear = () => setQuery(Object.fromEntries(Object.keys(filters).map((name) => [name, null])));
  return html`<${Empty} icon="search" title="No run matches" hint="Choose a longer time or fewer filters." action=${html`<button type="button" onClick=${clear}>Clear the filters</button>`} />`;
}

function Note({ list }) {
  const { runs, more, adding } = list;
  if (!runs.length) return null;
  return html`<span class="live-dot" aria-hidden="true" /><span role="status">${adding ? "Loading older runs…" : more ? `The newest ${count(runs.length)}` : runs.length === 1 ? "1 run" : `All ${count(runs.length)} runs`}</span>`;
}

// What bulk requests can say of the filters; they have no search, and need a condition.
function bulkFilter(filters) {
  const { q, ...filter } = parametersOf(filters);
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value));
  return q || !Object.keys(given).length ? null : given;
}

// All runs of the caller's tenant; for operators also the outlines of another's.
export default function RunsPage({ route }) {
  const key = route.query.toString();
  const { tenant, ...own } = useMemo(() => filtersIn(route.query), [key]);
  const caller = useCaller();
  if (!caller.operator || !tenant || tenant === caller.tenant) return html`<${OwnRuns} key="own" filters=${own} address=${key} />`;
  const filters = { ...own, tenant };
  return html`<${Page} title="Runs" note=${`The tenant ${tenant}`}>
    <${Filters} filters=${filters} operator />
    <${Outlines} key=${key} filters=${filters} />
  <//>`;
}

// The runs of one's own tenant, newest first, live.
function OwnRuns({ filters, address: key }) {
  const list = useLiveList(() => parametersOf(filters), key);
  const { runs, error, loading } = list;
  const selection = useChosen(runs);
  const caller = useCaller();
  const mayWrite = caller.scopes.includes("runs:write");
  const [active] = useListKeys({
    items: runs,
    itemKey: keyOf,
    noun: "run",
    onOpen: (index) => go("runs", [runs[index].id]),
    more: mayWrite ? [{ keys: ["x"], does: "Choose the run", run: (index) => selection.toggle(runs[index]) }] : [],
  });
  const isAll = runs.length > 0 && selection.chosen.length === runs.length;
  const isChoosing = selection.chosen.length > 0;
  const head = html`<${RunsHead} isAll=${isAll} isSome=${isChoosing} onAll=${selection.setAll} />`;
  return html`<${Page} title="Runs" note=${html`<${Note} list=${list} />`} fill>
    <${Filters} filters=${filters} operator=${caller.operator} />
    ${error && html`<${Failure} problem=${error} retry=${list.reload} compact />`}
    ${isChoosing && html`<${SelectionBar} selection=${selection} isAll=${isAll} filter=${bulkFilter(filters)} onDone=${list.reload} />`}
    ${!runs.length && loading && html`<${Loading} />`}
    ${!runs.length && !loading && !error && (list.adding ? html`<${Loading} text="Searching older runs…" />` : html`<${Nothing} filters=${filters} />`)}
    ${runs.length > 0 &&
    html`<${VirtualList} class="runs ${mayWrite ? "" : "read-only"} ${loading ? "stale" : ""}" role="table" itemRole="row" label="Runs" items=${runs} itemKey=${keyOf} estimate=${56} active=${active} onEnd=${list.loadMore}
      head=${head} render=${(run, index) => html`<${RunRow} run=${run} active=${index === active} chosen=${selection.has(run)} onChoose=${(range) => selection.toggle(run, range)} />`} />`}
  <//>`;
}
