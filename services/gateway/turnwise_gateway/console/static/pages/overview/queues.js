import { api } from "../../lib/api.js";
import { count, duration } from "../../lib/format.js";
import { useData } from "../../lib/hooks.js";
import { html, useState } from "../../lib/preact.js";
import { Dialog, Failure, Field, Loading, Table, confirm, toast } from "../../parts/index.js";

const path = (name) => `v1/pauses/queue/${encodeURIComponent(name)}`;

async function resume(name, reload) {
  const body = `What the queue ${name} held continues at once.`;
  if (!(await confirm({ title: "End this pause?", body, action: "Resume" }))) return;
  try {
    await api.delete(path(name));
    toast(`The queue ${name} continues`, "good");
  } catch (problem) {
    toast(problem.detail, "bad");
  }
  reload();
}

function PauseDialog({ name, onClose, onDone }) {
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await api.put(path(name), reason.trim() ? { reason: reason.trim() } : {});
      toast(`The queue ${name} is paused`, "good");
      onDone();
    } catch (error) {
      setProblem(error);
    }
  };
  const footer = html`<button type="button" onClick=${onClose}>Back</button><button type="submit" form="pause-queue" class="primary">Pause</button>`;
  return html`<${Dialog} title="Pause the queue ${name}?" onClose=${onClose} footer=${footer}>
    <form id="pause-queue" class="form" onSubmit=${submit}>
      <p class="soft">No ask of it is claimed until it is resumed. Asks that are being answered are answered to their end.</p>
      <${Field} label="Reason" autofocus maxlength="300" placeholder="Shown with each run that it holds" value=${reason} onInput=${(event) => setReason(event.target.value)} />
      ${problem && html`<${Failure} problem=${problem} compact />`}
    </form>
  <//>`;
}

function State({ queue }) {
  const [text, tone] = queue.paused ? ["Paused", "warning"] : queue.workers === 0 ? ["No worker", queue.runnable ? "bad" : "quiet"] : ["Served", "good"];
  return html`<span class="badge ${tone}"><span class="badge-sign" aria-hidden="true" />${text}</span>`;
}

const number = (title, of, narrow) => ({ title, align: "end", narrow, render: (queue) => html`<span class="number">${of(queue)}</span>` });

// The queues: what waits in each, who serves it, and for operators its pause.
export function Queues({ fleet, operator }) {
  const { data, error, loading, reload } = useData(({ signal }) => api.get("v1/queues", { fleet: fleet || null }, { signal }), [fleet], { every: 5 });
  const [pausing, setPausing] = useState(null);
  const action = (queue) =>
    queue.paused
      ? html`<button type="button" aria-label="Resume the queue ${queue.queue}" onClick=${() => resume(queue.queue, reload)}>Resume</button>`
      : html`<button type="button" aria-label="Pause the queue ${queue.queue}" onClick=${() => setPausing(queue.queue)}>Pause</button>`;
  const columns = [
    { title: "Queue", render: (queue) => html`<strong>${queue.queue}</strong>` },
    { title: "State", render: (queue) => html`<${State} queue=${queue} />` },
    number("Runnable", (queue) => count(queue.runnable)),
    number("In flight", (queue) => count(queue.leased), false),
    number("Later", (queue) => count(queue.delayed), false),
    number("Paused", (queue) => count(queue.paused_asks), false),
    number("Oldest", (queue) => (queue.runnable ? duration(queue.oldest_age) : "–"), false),
    number("Workers", (queue) => count(queue.workers), false),
    ...(operator ? [{ title: "Actions", align: "end", render: action }] : []),
  ];
  return html`<div class="overview-wide">
    <h2>Queues</h2>
    ${error && html`<${Failure} problem=${error} retry=${reload} compact />`}
    ${!data && loading && html`<${Loading} />`}
    ${data && html`<${Table} caption="Queues" rows=${data.items} rowKey=${(queue) => queue.queue} columns=${columns} />`}
    ${pausing && html`<${PauseDialog} name=${pausing} onClose=${() => setPausing(null)} onDone=${() => (setPausing(null), reload())} />`}
  </div>`;
}
