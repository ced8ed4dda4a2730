// The rows of a transcript.
import { between, duration } from "../../lib/format.js";
import { html } from "../../lib/preact.js";
import { Icon, Money, PlainText, Time } from "../../parts/index.js";
import { LiveMessage, Message } from "./message.js";

function Started({ entry }) {
  const { node } = entry;
  return html`<div class="task-line">
    <${Icon} name="tasks" size="14" /><strong><${PlainText} inline text=${node.name} limit=${80} /></strong>
    <span class="soft">${node.depth ? "begins, called by " : "begins"}${node.depth > 0 && html`<${PlainText} inline text=${node.parent.name} limit=${80} />`}</span>
    <span class="message-facts"><${Time} iso=${entry.at} /></span>
  </div>`;
}

function Finished({ entry }) {
  const { node } = entry;
  return html`<div class="task-line end">
    <${Icon} name="check" size="14" /><strong><${PlainText} inline text=${node.name} limit=${80} /></strong>
    <span class="soft">ends${entry.status ? ` with ${entry.status}` : ""}</span>
    <span class="message-facts"><span class="number">${duration(between(node.at, entry.at))}</span><${Money} value=${node.cost} /><${Time} iso=${entry.at} /></span>
  </div>`;
}

const MARKS = {
  "run.forked": ({ run, at, given }) => `Forked from ${run} at its event ${at}${given ? "; a person wrote the next answer" : ""}`,
  "run.retried": ({ error }) => `Retried${error?.message ? ` after: ${error.message}` : ""}`,
  "limit.reached": ({ limit, message }) => message ?? `A limit of ${limit} was reached`,
  "limits.changed": ({ max_cost: cost, max_tokens: tokens }) => `Limits changed${cost ? `: at most $${cost}` : ""}${tokens ? `, at most ${tokens} tokens` : ""}`,
  "ask.parked": ({ tool }) => (tool ? `A call of ${tool} is parked` : "The ask is parked"),
  "ask.resolved": ({ outcome }) => `A person decided on the parked call: ${outcome}`,
};

function Mark({ entry }) {
  return html`<div class="task-line mark"><${Icon} name="warning" size="14" /><span><${PlainText} inline text=${MARKS[entry.type](entry.data)} limit=${400} /></span><span class="message-facts"><${Time} iso=${entry.at} /></span></div>`;
}

const NEXT = { LLM: "The model is asked", Agent: "Tools are at work", User: "A person is asked" };

function Asked({ entry }) {
  const { asked } = entry;
  const who = asked.task.split("/").at(-1);
  return html`<div class="task-line asked">${asked.responder === "User" ? html`<${Icon} name="person" size="14" />` : html`<span class="spinner" aria-hidden="true" />`}<span>${NEXT[asked.responder] ?? `${asked.responder} is asked`} <span class="soft">in ${who}</span></span>
    <span class="message-facts"><span>since <${Time} iso=${asked.at} /></span></span></div>`;
}

const ROWS = { started: Started, finished: Finished, mark: Mark, asked: Asked };

export function Entry({ entry, active, actions, marked }) {
  const Row = ROWS[entry.kind];
  const inner = Row ? html`<${Row} entry=${entry} />` : entry.kind === "live" ? html`<${LiveMessage} ...${entry} />` : html`<${Message} entry=${entry} active=${active} actions=${actions} marked=${marked} />`;
  return html`<div class="transcript-row" style=${{ paddingInlineStart: `${Math.min(entry.node?.depth ?? 0, 6) * 16}px` }}>${inner}</div>`;
}
