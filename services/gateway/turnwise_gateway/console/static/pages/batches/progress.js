// Numbers of a batch as its list and its page show them.
import { between, count, duration, money, tokens } from "../../lib/format.js";
import { useNow } from "../../lib/hooks.js";
import { html } from "../../lib/preact.js";
import { Bar } from "../../parts/index.js";

const TONES = { open: "quiet", running: "active", completed: "good", stopped: "warning", cancelled: "quiet", expired: "warning" };

// How many items have ended, failed (also by a limit of their own), and are left.
export function figures({ counts, total }) {
  const ended = counts.completed + counts.limited + counts.failed + counts.cancelled + counts.deleted;
  return { ended, done: counts.completed + counts.limited, failed: counts.failed, left: total - ended };
}

export function BatchBadge({ batch }) {
  return html`<span class="badge ${TONES[batch.status] ?? "quiet"}"><span class="badge-sign" aria-hidden="true" />${batch.status[0].toUpperCase()}${batch.status.slice(1)}</span>`;
}

export function ItemsBar({ batch }) {
  const { ended } = figures(batch);
  return html`<${Bar} label="Items" value=${ended} max=${batch.total} text=${`${count(ended)} of ${count(batch.total)}`} plain />`;
}

export function itemsText(batch) {
  const { done, failed, left } = figures(batch);
  return `${count(done)} done, ${count(failed)} failed, ${count(left)} left`;
}

// What it has spent, of its limit if it has one: cost, or tokens where these alone are limited.
export function spentText({ usage, budget }) {
  const used = usage.prompt_tokens + usage.completion_tokens;
  if (budget.max_cost === null && budget.max_tokens !== null) return `${tokens(used)} of ${tokens(budget.max_tokens)} tokens`;
  return budget.max_cost === null ? money(usage.cost) : `${money(usage.cost)} of ${money(budget.max_cost)}`;
}

// How long it took, or has taken; and when it will end if it goes on as it went so far.
export function Took({ batch }) {
  useNow(10);
  const { ended, left } = figures(batch);
  const seconds = between(batch.created_at, batch.finished_at);
  const goesOn = !batch.finished_at && !batch.stopped && !batch.cancel_requested_at && ended > 0 && left > 0;
  return html`<span class="number">${duration(seconds)}</span>${goesOn && html`<div class="small soft">about ${duration((seconds / ended) * left)} left</div>`}`;
}

export function batchName(batch) {
  return batch.name ?? batch.id;
}
