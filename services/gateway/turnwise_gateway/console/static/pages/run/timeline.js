import { api } from "../../lib/api.js";
import { untilAnswered } from "../../lib/attempts.js";
import { count, duration } from "../../lib/format.js";
import { runPath } from "../../lib/live.js";
import { html, useEffect, useMemo, useState } from "../../lib/preact.js";
import { Empty, Failure, Loading, Money, PlainText, VirtualList } from "../../parts/index.js";
import { KINDS, costsOf, placed, ticks, whoOf } from "./timeline_rows.js";
import { TimelineTable } from "./timeline_table.js";
import { isEnded } from "./use_run.js";

const PAGE = 500;
// A run that continues: no more often than this.
const AGAIN_MS = 4000;

// The timeline, whole: its items come in pages.
function useTimeline(run, seq) {
  const [state, setState] = useState({ view: null, items: [], loading: true, problem: null });
  const [again, setAgain] = useState(0);
  useEffect(() => {
    const aborting = new AbortController();
    const { signal } = aborting;
    const failed = (problem) => signal.aborted || setState((before) => ({ ...before, loading: false, problem }));
    const load = async () => {
      setState((before) => ({ ...before, loading: true }));
      try {
        const items = [];
        let after = -1;
        let view = null;
        while (after !== null) {
          const ask = () => api.get(runPath(run.id, "/timeline"), { after, limit: PAGE }, { signal });
          view = await untilAnswered(ask, { signal, onProblem: failed });
          items.push(...view.items);
          after = view.next_after;
          // The first page is shown while the others are on their way.
          const whole = items.slice();
          setState((before) => (before.items.length > whole.length ? before : { view, items: whole, loading: after !== null, problem: null }));
        }
        setState({ view, items, loading: false, problem: null });
      } catch (problem) {
        failed(problem);
      }
    };
    const timer = setTimeout(load, state.view ? AGAIN_MS : 0);
    return () => {
      clearTimeout(timer);
      aborting.abort();
    };
  }, [run.id, isEnded(run) ? "ended" : Math.floor(seq / 10), again]);
  return { ...state, retry: () => setAgain(again + 1) };
}

function spanWords(span) {
  return `${KINDS[span.kind] ?? span.kind}${span.name ? ` (${span.name})` : ""}: ${duration(span.seconds)}`;
}

// One bar; its title has the words of each part, and the table has all of it as text.
function Bar({ spans, from, length, label }) {
  return html`<svg class="spans" viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label=${label}>
    ${placed(spans, from, length).map((span, index) => html`<rect key=${index} class="span-${span.kind in KINDS ? span.kind : "unknown"}" x=${span.x.toFixed(2)} width=${span.width.toFixed(2)} y="0" height="14"><title>${spanWords(span)}</title></rect>`)}
  </svg>`;
}

function Key({ kind }) {
  return html`<svg class="span-key" width="12" height="12" viewBox="0 0 12 12" aria-hidden="true"><rect class="span-${kind in KINDS ? kind : "unknown"}" width="12" height="12" rx="2" /></svg>`;
}

function Shares({ view }) {
  let start = 0;
  const spans = view.shares.map((share) => {
    const span = { kind: share.kind, name: share.name, start, seconds: share.seconds };
    start += share.seconds;
    return span;
  });
  return html`<section class="card shares">
    <p class="shares-summary"><${PlainText} text=${view.summary} limit=${2000} /></p>
    <${Bar} spans=${spans} from=${0} length=${view.seconds || 1} label="The shares below, as one bar" />
    <ul class="share-list">
      ${view.shares.map((share) => html`<li key=${`${share.kind} ${share.name}`}><${Key} kind=${share.kind} /><span class="share-text"><${PlainText} inline text=${share.text} limit=${160} /></span>
        <span class="number">${duration(share.seconds)}</span><span class="number faint">${(100 * share.share).toFixed(1)} %</span><span class="number faint">${share.times}×</span></li>`)}
    </ul>
  </section>`;
}

function attemptWords(attempt) {
  const where = attempt.host ? `${attempt.host} (pid ${attempt.pid})` : (attempt.worker ?? "an unknown worker");
  return `${attempt.outcome} by ${where}${attempt.reason ? `: ${attempt.reason}` : ""}`;
}

function Item({ item, window, cost, isOpen, onToggle }) {
  const retried = item.attempts.length > 1;
  return html`<div class="span-row">
    <button type="button" class="span-line" aria-expanded=${isOpen ? "true" : "false"} onClick=${onToggle}>
      <span class="span-turn number faint">${item.kind === "ask" ? item.turn : ""}</span>
      <span class="span-who ellipsis"><${PlainText} inline text=${whoOf(item)} limit=${100} />${retried && html` <span class="badge warning">${item.attempts.length} attempts</span>`}</span>
      <span class="span-bar"><${Bar} spans=${item.spans} from=${window.from} length=${window.length} label=${item.spans.map(spanWords).join("; ") || "no time"} /></span>
      <span class="span-time number">${duration(item.seconds)}</span>
      <span class="span-cost number">${cost === undefined ? "" : html`<${Money} value=${cost} />`}</span>
    </button>
    ${isOpen && html`<div class="span-detail">
      <p class="soft small">After ${duration(item.start)}, event ${item.event}${item.queue ? `, queue ${item.queue}` : ""}</p>
      <ul>${item.spans.map((span, index) => html`<li key=${index}><${Key} kind=${span.kind} /> ${spanWords(span)}</li>`)}</ul>
      ${item.attempts.length > 0 && html`<ol>${item.attempts.map((attempt, index) => html`<li key=${index}><${PlainText} inline text=${attemptWords(attempt)} limit=${300} />
        ${attempt.calls.length > 0 && html`<ul>${attempt.calls.map((call, number) => html`<li key=${number} class="soft"><${PlainText} inline text=${`${call.kind} ${call.name} ${duration(call.seconds)}${call.first !== null && call.first !== undefined ? `, first text after ${duration(call.first)}` : ""}${call.outcome ? `, ${call.outcome}` : ""}`} limit=${200} /></li>`)}</ul>`}
        ${attempt.calls_left_out > 0 && html`<span class="soft">and ${attempt.calls_left_out} shorter calls</span>`}</li>`)}</ol>`}
    </div>`}
  </div>`;
}

function Axis({ window }) {
  return html`<div class="span-line span-axis" aria-hidden="true">
    <span class="span-turn" /><span class="span-who" />
    <span class="span-bar">${ticks(window.length).filter((at) => at < 0.93 * window.length).map((at) => html`<span key=${at} class="tick" style=${{ left: `${(100 * at) / (window.length || 1)}%` }}>${duration(window.from + at)}</span>`)}</span>
    <span class="span-time" /><span class="span-cost" />
  </div>`;
}

// Where the time of the run went.
export function Timeline({ run, picture }) {
  const { view, items, loading, problem, retry } = useTimeline(run, picture.seq);
  const costs = useMemo(() => costsOf(picture.entries), [picture.entries]);
  const [open, setOpen] = useState(() => new Set());
  const [asTable, setTable] = useState(false);
  const [zoom, setZoom] = useState("run");
  if (!view && problem) return html`<${Failure} problem=${problem} retry=${retry} />`;
  if (!view) return html`<${Loading} text="Adding up where the time went…" />`;
  if (!items.length) return html`<${Empty} icon="clock" title="No time to show yet" hint="It appears here once the run has begun." />`;
  const toggle = (no) => {
    const next = new Set(open);
    if (!next.delete(no)) next.add(no);
    setOpen(next);
  };
  const windowOf = (item) => (zoom === "run" ? { from: 0, length: view.seconds || 1 } : { from: item.start, length: longest(items) });
  const costOf = (item) => (item.responder === "llm" ? costs.get(`${item.task} ${item.turn}`) : undefined);
  return html`<div class="timeline">
    <${Shares} view=${view} />
    ${problem && html`<${Failure} problem=${problem} retry=${retry} compact />`}
    <div class="run-toolbar">
      <span class="soft small" role="status">${count(items.length)} of ${count(view.total)} asks and waits${loading ? ", loading…" : ""}</span>
      <span class="run-toolbar-end">
        <label class="toggle"><input type="checkbox" checked=${zoom === "ask"} onChange=${(event) => setZoom(event.currentTarget.checked ? "ask" : "run")} /> Each from its own start</label>
        <label class="toggle"><input type="checkbox" checked=${asTable} onChange=${(event) => setTable(event.currentTarget.checked)} /> As a table</label>
      </span>
    </div>
    ${asTable
      ? html`<${TimelineTable} items=${items} costOf=${costOf} spanWords=${spanWords} />`
      : html`<${VirtualList} class="span-list" label="Asks and waits" items=${items} itemKey=${(item) => item.no} estimate=${32} head=${zoom === "run" && html`<${Axis} window=${windowOf(null)} />`}
          render=${(item) => html`<${Item} item=${item} window=${windowOf(item)} cost=${costOf(item)} isOpen=${open.has(item.no)} onToggle=${() => toggle(item.no)} />`} />`}
  </div>`;
}

function longest(items) {
  return items.reduce((most, item) => Math.max(most, item.seconds), 0.001);
}
