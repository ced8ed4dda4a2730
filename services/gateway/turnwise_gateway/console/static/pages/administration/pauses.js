import { api } from "../../lib/api.js";
import { useCaller } from "../../lib/caller.js";
import { useData } from "../../lib/hooks.js";
import { html, useState } from "../../lib/preact.js";
import { confirm, Empty, Failure, Field, Loading, PlainText, Table, Time, toast } from "../../parts/index.js";

const KINDS = { queue: "Queue", task: "Task", tenant: "Tenant" };
const path = (pause) => `v1/pauses/${pause.kind}/${encodeURIComponent(pause.name)}`;

async function resume(pause, reload) {
  const body = `What the ${pause.kind} ${pause.name} held continues at once.`;
  if (!(await confirm({ title: "End this pause?", body, action: "Resume" }))) return;
  try {
    await api.delete(path(pause));
    toast(`The ${pause.kind} ${pause.name} continues`, "good");
  } catch (problem) {
    toast(problem.detail, "bad");
  }
  reload();
}

function PauseForm({ reload }) {
  const [kind, setKind] = useState("queue");
  const [name, setName] = useState("");
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await api.put(path({ kind, name: name.trim() }), reason.trim() ? { reason: reason.trim() } : {});
      toast(`The ${kind} ${name.trim()} is paused`, "good");
      setName("");
      setReason("");
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
    reload();
  };
  return html`<form class="card form-row pause-form" onSubmit=${submit} aria-label="Pause something">
    <${Field} label="Pause a" as="select" value=${kind} onChange=${(event) => setKind(event.target.value)}>
      ${Object.entries(KINDS).map(([id, text]) => html`<option key=${id} value=${id}>${text}</option>`)}
    <//>
    <${Field} label="Name" required value=${name} onInput=${(event) => setName(event.target.value)} />
    <${Field} label="Reason" maxlength="300" placeholder="Shown with each run that it holds" value=${reason} onInput=${(event) => setReason(event.target.value)} />
    <button type="submit" class="primary">Pause</button>
    ${problem && html`<${Failure} problem=${problem} compact />`}
  </form>`;
}

// What is paused: nothing of it is begun or claimed until it is resumed.
export function Pauses() {
  const caller = useCaller();
  const { data, error, loading, reload } = useData(({ signal }) => api.get("v1/pauses", {}, { signal }), [], { every: 10 });
  const pauses = data?.items ?? [];
  const columns = [
    { title: "Paused", render: (pause) => html`${KINDS[pause.kind] ?? pause.kind} <strong>${pause.name}</strong>` },
    { title: "Reason", render: (pause) => html`<${PlainText} text=${pause.reason ?? "–"} limit=${300} />` },
    { title: "Since", render: (pause) => html`<${Time} iso=${pause.since} relative />` },
    { title: "By", narrow: false, render: (pause) => pause.paused_by },
    ...(caller.operator ? [{ title: "Actions", align: "end", render: (pause) => html`<button type="button" aria-label="Resume the ${pause.kind} ${pause.name}" onClick=${() => resume(pause, reload)}>Resume</button>` }] : []),
  ];
  return html`
    <p class="soft toolbar">Asks that are being answered are answered to their end. Runs are still accepted, and wait.${!caller.operator && " Operators pause and resume."}</p>
    ${caller.operator && html`<${PauseForm} reload=${reload} />`}
    ${error && html`<${Failure} problem=${error} retry=${reload} compact=${data !== null} />`}
    ${!data && loading && html`<${Loading} />`}
    ${data && !pauses.length && html`<${Empty} title="Nothing is paused" hint="All queues, tasks and tenants are being worked on." />`}
    ${pauses.length > 0 && html`<${Table} caption="Pauses" rows=${pauses} rowKey=${(pause) => `${pause.kind}/${pause.name}`} columns=${columns} />`}
  `;
}
