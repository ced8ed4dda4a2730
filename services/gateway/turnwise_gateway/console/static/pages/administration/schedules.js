import { api } from "../../lib/api.js";
import { duration } from "../../lib/format.js";
import { usePaged } from "../../lib/paged.js";
import { html, useState } from "../../lib/preact.js";
import { go, link } from "../../lib/router.js";
import { confirm, Empty, Failure, Loading, LoadMore, PlainText, Table, Time, toast, useAction } from "../../parts/index.js";
import { NewSchedule } from "./new_schedule.js";
import { Ticks } from "./ticks.js";

const TONES = { active: "good", paused: "warning", finished: "quiet" };
const STATES = { active: "Active", paused: "Paused", finished: "Finished" };
const path = (schedule) => `v1/schedules/${schedule.id}`;

// The times of a schedule in words.
function When({ of: schedule }) {
  if (schedule.cron) return html`<code>${schedule.cron}</code> <span class="faint small">${schedule.timezone}</span>`;
  return schedule.every ? html`every ${duration(schedule.every)}` : html`once, <${Time} iso=${schedule.at} />`;
}

async function change(deed, told, reload) {
  try {
    await deed();
    toast(told, "good");
  } catch (problem) {
    toast(problem.detail, "bad");
  }
  reload();
}

async function remove(schedule, reload) {
  const body = html`<p>No more ticks of <strong>${schedule.name}</strong> happen, and its ticks are forgotten. Its runs stay.</p>`;
  if (!(await confirm({ title: "Delete this schedule?", body, action: "Delete", danger: true }))) return;
  await change(() => api.delete(path(schedule)), `${schedule.name} is deleted`, reload);
}

function Actions({ of: schedule, reload }) {
  const paused = schedule.state === "paused";
  const { busy, send, isShown } = useAction({ inToast: true });
  const trigger = async () => {
    const run = await send("post", `${path(schedule)}/trigger`);
    if (!run) return;
    toast(`${schedule.name} runs now`, "good");
    if (isShown()) go("runs", [run.id]);
  };
  const turn = () => change(() => api.post(`${path(schedule)}/${paused ? "resume" : "pause"}`), paused ? `${schedule.name} continues` : `${schedule.name} is paused`, reload);
  return html`<span class="row-actions">
    <button type="button" aria-label="Run now: ${schedule.name}" disabled=${busy} onClick=${trigger}>Run now</button>
    ${schedule.state !== "finished" && html`<button type="button" aria-label="${paused ? "Resume" : "Pause"} ${schedule.name}" onClick=${turn}>${paused ? "Resume" : "Pause"}</button>`}
    ${!schedule.declared_by && html`<button type="button" aria-label="Delete ${schedule.name}" onClick=${() => remove(schedule, reload)}>Delete</button>`}
  </span>`;
}

function columns(reload) {
  return [
    { title: "Schedule", render: (schedule) => html`<a href=${link("administration", ["schedules", schedule.name])}>${schedule.name}</a><div class="small soft">${schedule.task}${schedule.declared_by && html`, in the code of version ${schedule.declared_by}`}</div><div class="narrow-only small"><${When} of=${schedule} /></div>` },
    { title: "When", narrow: false, render: (schedule) => html`<${When} of=${schedule} />` },
    { title: "State", render: (schedule) => html`<span class="badge ${TONES[schedule.state] ?? "quiet"}"><span class="badge-sign" aria-hidden="true" />${STATES[schedule.state] ?? schedule.state}</span>${schedule.pause_note && html`<div class="small soft"><${PlainText} text=${schedule.pause_note} limit=${300} /></div>`}` },
    { title: "Next", narrow: false, render: (schedule) => (schedule.next_ticks.length ? html`<span class="number"><${Time} iso=${schedule.next_ticks[0]} relative /></span>` : html`<span class="absent">none</span>`) },
    { title: "Last", narrow: false, render: (schedule) => (schedule.last_tick ? html`${schedule.last_tick.outcome} <span class="number"><${Time} iso=${schedule.last_tick.due_at} relative /></span>` : html`<span class="absent">none yet</span>`) },
    { title: "Actions", align: "end", render: (schedule) => html`<${Actions} of=${schedule} reload=${reload} />` },
  ];
}

function ScheduleList() {
  const paged = usePaged("v1/schedules");
  const [making, setMaking] = useState(false);
  const made = (schedule) => {
    setMaking(false);
    toast(`${schedule.name} is made`, "good");
    paged.reload();
  };
  return html`
    <div class="toolbar"><p class="soft">Runs that are submitted at set times.</p><button type="button" class="primary" onClick=${() => setMaking(true)}>New schedule</button></div>
    ${paged.error && html`<${Failure} problem=${paged.error} retry=${paged.reload} compact=${paged.items.length > 0} />`}
    ${!paged.items.length && paged.loading && html`<${Loading} />`}
    ${!paged.items.length && !paged.loading && !paged.error && html`<${Empty} title="Nothing is scheduled" hint="A schedule runs a task by a line of cron, at an interval, or once." />`}
    ${paged.items.length > 0 && html`<${Table} caption="Schedules" rows=${paged.items} rowKey=${(schedule) => schedule.id} columns=${columns(paged.reload)} />`}
    <${LoadMore} paged=${paged} />
    ${making && html`<${NewSchedule} onClose=${() => setMaking(false)} onMade=${made} />`}
  `;
}

// The schedules of a tenant, and the ticks of one of them.
export function Schedules({ parts }) {
  if (!parts.length) return html`<${ScheduleList} />`;
  return html`
    <p class="toolbar"><a href=${link("administration", ["schedules"])}>All schedules</a></p>
    <${Ticks} key=${parts[0]} schedule=${parts[0]} />
  `;
}
