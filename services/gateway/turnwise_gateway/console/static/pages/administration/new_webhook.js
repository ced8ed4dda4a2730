import { html, useId, useState } from "../../lib/preact.js";
import { Dialog, Failure, Field, useAction } from "../../parts/index.js";

const names = (text) => text.split(",").map((name) => name.trim()).filter(Boolean);

// The form of a new webhook; `onMade` gets it with its secret.
export function NewWebhook({ onClose, onMade }) {
  const [url, setUrl] = useState("");
  const [events, setEvents] = useState("");
  const [description, setDescription] = useState("");
  const { busy, problem, send } = useAction();
  const form = useId();

  const submit = async (event) => {
    event.preventDefault();
    const body = { url: url.trim(), description: description.trim(), ...(names(events).length ? { events: names(events) } : {}) };
    const made = await send("post", "v1/webhooks", body);
    if (made) onMade(made);
  };

  const footer = html`
    <button type="button" onClick=${onClose}>Back</button>
    <button type="submit" form=${form} class="primary" disabled=${busy}>Make the webhook</button>
  `;
  return html`<${Dialog} title="New webhook" onClose=${onClose} footer=${footer}>
    <form id=${form} class="form" onSubmit=${submit}>
      <${Field} label="URL" hint="It gets a signed POST for each event." type="url" required maxlength="2048" autofocus value=${url} onInput=${(event) => setUrl(event.target.value)} />
      <${Field} label="Events" hint="Types separated by commas, for example: run.*, human.asked. Left empty: the end of each run, and whatever waits for a person." value=${events} onInput=${(event) => setEvents(event.target.value)} />
      <${Field} label="Description" hint="What it is for" maxlength="300" value=${description} onInput=${(event) => setDescription(event.target.value)} />
      ${problem && html`<${Failure} problem=${problem} compact />`}
    </form>
  <//>`;
}
