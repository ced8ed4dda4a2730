import { api, newIdempotencyKey } from "../../lib/api.js";
import { html, useId, useRef, useState } from "../../lib/preact.js";
import { Dialog, Failure, Field } from "../../parts/index.js";

const names = (text) => text.split(",").map((name) => name.trim()).filter(Boolean);

// The form of a new webhook; `onMade` gets it with its secret.
export function NewWebhook({ onClose, onMade }) {
  const [url, setUrl] = useState("");
  const [events, setEvents] = useState("");
  const [description, setDescription] = useState("");
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const form = useId();
  const once = useRef(newIdempotencyKey());

  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const body = { url: url.trim(), description: description.trim(), ...(names(events).length ? { events: names(events) } : {}) };
      onMade(await api.post("v1/webhooks", body, { idempotencyKey: once.current }));
    } catch (error) {
      // The corrected form is another request.
      if (error.code !== "unreachable") once.current = newIdempotencyKey();
      setProblem(error);
      setBusy(false);
    }
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
