import { duration } from "../../lib/format.js";
import { html } from "../../lib/preact.js";
import { Money, PlainText, VirtualList } from "../../parts/index.js";
import { whoOf } from "./timeline_rows.js";

const TITLES = ["Turn", "Asked", "After", "Took", "Attempts", "Cost", "Time"];

function Row({ item, cost, spanWords }) {
  return html`<div class="timeline-cells" role="presentation">
    <span role="cell" class="number">${item.kind === "ask" ? item.turn : ""}</span>
    <span role="cell"><${PlainText} inline text=${whoOf(item)} limit=${100} /></span>
    <span role="cell" class="number">${duration(item.start)}</span>
    <span role="cell" class="number">${duration(item.seconds)}</span>
    <span role="cell" class="number">${item.attempts.length || ""}</span>
    <span role="cell" class="number">${cost === undefined ? "" : html`<${Money} value=${cost} />`}</span>
    <span role="cell" class="soft"><${PlainText} inline text=${item.spans.map(spanWords).join("; ")} limit=${400} /></span>
  </div>`;
}

// The timeline as text, for those who cannot see the bars.
export function TimelineTable({ items, costOf, spanWords }) {
  const head = html`<div class="timeline-cells timeline-head" role="row">${TITLES.map((title) => html`<span key=${title} role="columnheader">${title}</span>`)}</div>`;
  return html`<${VirtualList} class="timeline-table" role="table" itemRole="row" label="The timeline as a table" items=${items} itemKey=${(item) => item.no} estimate=${34} head=${head}
    render=${(item) => html`<${Row} item=${item} cost=${costOf(item)} spanWords=${spanWords} />`} />`;
}
