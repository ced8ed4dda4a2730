import { usePaged } from "../../lib/paged.js";
import { html } from "../../lib/preact.js";
import { link } from "../../lib/router.js";
import { Empty, Failure, Loading, LoadMore, PlainText, Table, Time } from "../../parts/index.js";

const TONES = { submitted: "good", refused: "bad", missed: "warning" };

const COLUMNS = [
  { title: "Due", render: (tick) => html`<span class="number"><${Time} iso=${tick.due_at} /></span>` },
  { title: "Outcome", render: (tick) => html`<span class="badge ${TONES[tick.outcome] ?? "quiet"}"><span class="badge-sign" aria-hidden="true" />${tick.outcome}</span>${tick.ticks > 1 && html` <span class="faint small">${tick.ticks} ticks</span>`}` },
  { title: "Run", render: (tick) => (tick.run ? html`<a class="mono small" href=${link("runs", [tick.run])}>${tick.run}</a>` : html`<span class="absent">none</span>`) },
  { title: "Why", render: (tick) => tick.reason && html`<span class="small soft"><${PlainText} inline text=${tick.reason} limit=${300} /></span>` },
  { title: "By", narrow: false, render: (tick) => html`<${PlainText} inline text=${tick.triggered_by ?? "the time"} limit=${80} />` },
];

// The ticks of one schedule, with their runs.
export function Ticks({ schedule }) {
  const paged = usePaged(`v1/schedules/${encodeURIComponent(schedule)}/ticks`);
  return html`
    <div class="toolbar"><p class="soft">Ticks of <strong>${schedule}</strong>, newest first; the last thousand are kept.</p><button type="button" onClick=${paged.reload}>Refresh</button></div>
    ${paged.error && html`<${Failure} problem=${paged.error} retry=${paged.reload} compact=${paged.items.length > 0} />`}
    ${!paged.items.length && paged.loading && html`<${Loading} />`}
    ${!paged.items.length && !paged.loading && !paged.error && html`<${Empty} title="No ticks yet" hint="They are listed here as they come." />`}
    ${paged.items.length > 0 && html`<${Table} caption="Ticks" rows=${paged.items} rowKey=${(tick) => tick.due_at + tick.at} columns=${COLUMNS} />`}
    <${LoadMore} paged=${paged} />
  `;
}
