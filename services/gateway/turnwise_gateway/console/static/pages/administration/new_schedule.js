import { html, useId, useState } from "../../lib/preact.js";
import { Dialog, Failure, Field, useAction } from "../../parts/index.js";

// The form of a new schedule by a line of cron; other kinds are made by commands and over HTTP.
export function NewSchedule({ onClose, onMade }) {
  const [given, setGiven] = useState(() => ({ name: "", task: "", message: "", cron: "0 3 * * MON-FRI", timezone: Intl.DateTimeFormat().resolvedOptions().timeZone }));
  const { busy, problem, send } = useAction();
  const form = useId();
  const field = (name) => ({ value: given[name], onInput: (event) => setGiven((before) => ({ ...before, [name]: event.target.value })) });

  const submit = async (event) => {
    event.preventDefault();
    const body = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value.trim()]));
    const made = await send("post", "v1/schedules", body);
    if (made) onMade(made);
  };

  const footer = html`
    <button type="button" onClick=${onClose}>Back</button>
    <button type="submit" form=${form} class="primary" disabled=${busy}>Make the schedule</button>
  `;
  return html`<${Dialog} title="New schedule" onClose=${onClose} footer=${footer}>
    <form id=${form} class="form" onSubmit=${submit}>
      <${Field} label="Name" required maxlength="80" autofocus ...${field("name")} />
      <${Field} label="Task" required maxlength="200" ...${field("task")} />
      <${Field} label="Message" required ...${field("message")} />
      <${Field} label="Cron" hint="Minute, hour, day of the month, month, day of the week" required ...${field("cron")} />
      <${Field} label="Time zone" required ...${field("timezone")} />
      ${problem && html`<${Failure} problem=${problem} compact />`}
    </form>
  <//>`;
}
