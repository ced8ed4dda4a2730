import { html, useMemo } from "../../lib/preact.js";
import { Chart } from "./chart.js";

const perSecond = (name) => (point) => point[name] / point.seconds;
const perMinute = (name) => (point) => (point[name] / point.seconds) * 60;
const level = (name) => (point) => point[name];

const CHARTS = [
  { title: "Turns per second", lines: [{ name: "Turns", colour: 1, of: perSecond("turns"), filled: true }] },
  {
    title: "Tokens per minute",
    lines: [
      { name: "Prompt", colour: 1, of: perMinute("prompt_tokens") },
      { name: "Completion", colour: 2, of: perMinute("completion_tokens") },
    ],
  },
  { title: "Cost per hour", unit: "$", lines: [{ name: "US dollars", colour: 3, of: (point) => (Number(point.cost) / point.seconds) * 3600, filled: true }] },
  {
    title: "Ends and faults per minute",
    lines: [
      { name: "Ended", colour: 5, of: perMinute("ended") },
      { name: "Failed", colour: 6, of: perMinute("failed") },
      { name: "Deferred", colour: 2, of: perMinute("deferrals") },
    ],
  },
  {
    title: "Unfinished runs",
    lines: [
      { name: "Running", colour: 1, of: level("running") },
      { name: "Waiting", colour: 2, of: level("waiting") },
      { name: "Queued", colour: 4, of: level("queued") },
      { name: "For a human", colour: 6, of: level("asking") },
    ],
  },
  {
    title: "Backlog and work in flight",
    lines: [
      { name: "Backlog", colour: 2, of: level("backlog") },
      { name: "In flight", colour: 1, of: level("in_flight") },
    ],
  },
];

// The times of all steps, also of those without a sample: there the lines have a gap.
function stepsOf(series) {
  const [since, until] = [Date.parse(series.since) / 1000, Date.parse(series.until) / 1000];
  const times = [];
  for (let at = since; at < until; at += series.step) times.push(at);
  const points = new Map(series.points.map((point) => [Math.round(Date.parse(point.at) / 1000), point]));
  return { times, points: times.map((at) => points.get(Math.round(at)) ?? null) };
}

// The charts of a series, one below the other on narrow screens.
export function Charts({ series }) {
  const { times, points } = useMemo(() => stepsOf(series), [series]);
  return html`<div class="charts">
    ${CHARTS.map(({ title, unit, lines }) => {
      const values = lines.map((line) => points.map((point) => (point ? line.of(point) : null)));
      return html`<${Chart} key=${title} title=${title} unit=${unit} lines=${lines} times=${times} values=${values} />`;
    })}
  </div>`;
}
