import { count, money, tokens } from "../../lib/format.js";
import { html } from "../../lib/preact.js";

const sum = (points, name) => points.reduce((total, point) => total + Number(point[name]), 0);

// What was done in the time, and what is under way now.
export function Figures({ series }) {
  const { points } = series;
  const now = points.at(-1);
  const failed = sum(points, "failed");
  const figures = [
    ["Turns", count(sum(points, "turns"))],
    ["Tokens", tokens(sum(points, "prompt_tokens") + sum(points, "completion_tokens"))],
    ["Cost", money(String(sum(points, "cost")))],
    ["Runs ended", count(sum(points, "ended"))],
    ["Runs failed", count(failed), failed > 0 ? "bad" : ""],
    ["Running now", count(now.running)],
    ["Waiting now", count(now.waiting + now.queued)],
    ["For a human", count(now.asking), now.asking > 0 ? "warning" : ""],
  ];
  return html`<dl class="figures overview-figures">${figures.map(
    ([name, value, tone]) => html`<div key=${name} class="card ${tone ?? ""}"><dt>${name}</dt><dd class="number">${value}</dd></div>`,
  )}</dl>`;
}
