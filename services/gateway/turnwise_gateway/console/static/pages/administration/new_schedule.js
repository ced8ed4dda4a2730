import { api, newIdempotencyKey } from "../../lib/api.js";
import { html, useId, useRef, useState } from "../../lib/preact.js";
import { Dialog, Failure, Field } from "../../parts/index.js";

// The form of a new schedule by a line of cron; other kinds are made by commands and over HTTP.
export function NewSchedule({ onClose, onMade }) {
  const [given, setGiven] = useState(() => ({ name: "", task: "", message: "", cron: "0 3 * * MON-FRI", timezone: Intl.DateTimeFormat().resolvedOptions().timeZone }));
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const form = useId();
  const once = useRef(newIdempotencyKey());
  const field = (name) => ({ value: given[name], onInput: (event) => setGiven((before) => ({ ...before, [name]: event.target.value })) });

  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const body = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value.trim()]));
      onMade(await api.post("v1/schedules", body, { idempotencyKey: once.current }));
    } catch (error) {
      // The corrected form is another request.
      if (error.code !== "unreachable") once.current = newIdempotencyKey();
      setProblem(error);
      setBusy(false);
    }
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
