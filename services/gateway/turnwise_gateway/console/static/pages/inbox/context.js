import { api } from "../../lib/api.js";
import { useData } from "../../lib/hooks.js";
import { writeJson } from "../../lib/json.js";
import { runPath } from "../../lib/live.js";
import { html } from "../../lib/preact.js";
import { link } from "../../lib/router.js";
import { Money, PlainText, StatusBadge, Time } from "../../parts/index.js";
import { partsOf } from "../run/document.js";
import { eventsSoFar } from "../run/event_reader.js";

// Enough events for the messages shown: each turn has about five.
const EVENTS = 40;
const MESSAGES = 5;
const TOLD = new Set(["task.started", "turn.taken"]);

// The messages before the question, oldest first. Only the end of the run is read, however long it is.
async function lastMessages(run, item, signal) {
  const found = [];
  const after = Math.max(0, run.last_event - EVENTS);
  for await (const events of eventsSoFar(run.id, { after, last: run.last_event, signal })) {
    for (const event of events) {
      const document = event.data?.document;
      // What is asked stands above already.
      const isAsked = document && document.metadata?.id === item.document?.metadata?.id;
      if (TOLD.has(event.type) && document && !isAsked) found.push({ seq: event.seq, task: event.task ?? "", responder: event.data.responder ?? null, document });
    }
    if (found.length > 3 * MESSAGES) found.splice(0, found.length - 3 * MESSAGES);
  }
  return found.slice(-MESSAGES);
}

const SPEAKERS = { LLM: "model", Agent: "tools", User: "person" };

function Message({ task, responder, document }) {
  const parts = partsOf(document);
  const text = parts.text || parts.results.map((one) => one.text).join("\n");
  return html`<li class="context-message">
    <div class="context-speaker"><${PlainText} text=${task.split("/").at(-1)} limit=${60} inline /> <span class="faint">${SPEAKERS[responder] ?? (responder === null ? "begins with" : "sub-task")}</span></div>
    <div class="context-text">
      ${text && html`<${PlainText} text=${text} limit=${500} />`}
      ${parts.tools.map((tool) => html`<div class="context-tool"><code><${PlainText} text=${tool.name} limit=${80} inline /></code> <${PlainText} text=${tool.fields ? writeJson(tool.fields) : String(tool.raw ?? "")} limit=${200} inline /></div>`)}
    </div>
  </li>`;
}

// What a person has to know to answer: the run, and what was said last.
export function RunContext({ item }) {
  const { data, error } = useData(
    async ({ signal }) => {
      const run = await api.get(runPath(item.run), {}, { signal });
      return { run, messages: await lastMessages(run, item, signal) };
    },
    [],
    { about: item.id },
  );
  return html`<section class="context" aria-label="The run">
    <div class="context-run">
      <a href=${link("runs", [item.run])}>Open the run</a>
      ${data &&
      html`<${PlainText} text=${data.run.task} limit=${120} inline /><${StatusBadge} status=${data.run.status} />
        <span class="soft">began <${Time} iso=${data.run.created_at} relative /></span><${Money} value=${data.run.usage.cost} />
        ${data.run.session_id && html`<span class="tag" title="Session">${data.run.session_id}</span>`}
        ${data.run.tags.map((tag) => html`<span class="tag"><${PlainText} text=${tag} limit=${40} inline /></span>`)}`}
    </div>
    ${error && html`<p class="soft">Its messages could not be read: ${error.detail ?? error.message}</p>`}
    ${data?.messages.length > 0 &&
    html`<details open><summary>What was said last</summary>
      <ol class="context-messages">${data.messages.map((one) => html`<${Message} key=${one.seq} ...${one} />`)}</ol>
    </details>`}
  </section>`;
}
