import { api, newIdempotencyKey } from "../../lib/api.js";
import { html, useId, useRef, useState } from "../../lib/preact.js";
import { Dialog, Failure, Field, PlainText } from "../../parts/index.js";

const OVERLAPS = [
  { seconds: 0, text: "It ends at once" },
  { seconds: 3_600, text: "One more hour" },
  { seconds: 86_400, text: "One more day" },
  { seconds: 604_800, text: "One more week" },
];

// A new key in place of another; `onMade` gets it with its secret.
export function RotateKey({ of: key, onClose, onMade }) {
  const [overlap, setOverlap] = useState(86_400);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const form = useId();
  const once = useRef(newIdempotencyKey());

  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      onMade(await api.post(`v1/keys/${key.id}/rotate`, { overlap }, { idempotencyKey: once.current }));
    } catch (error) {
      if (error.code !== "unreachable") once.current = newIdempotencyKey();
      setProblem(error);
      setBusy(false);
    }
  };

  const footer = html`
    <button type="button" onClick=${onClose}>Back</button>
    <button type="submit" form=${form} class="primary" disabled=${busy}>Rotate</button>
  `;
  return html`<${Dialog} title=${html`Rotate <${PlainText} inline text=${key.name} limit=${100} />`} onClose=${onClose} footer=${footer}>
    <form id=${form} class="form" onSubmit=${submit}>
      <p>A new key with the same tenant, name, scopes and lifetime takes the place of <code>${key.prefix}</code>.</p>
      <${Field} label="How long the old key still works" as="select" value=${String(overlap)} onChange=${(event) => setOverlap(Number(event.target.value))}>
        ${OVERLAPS.map((one) => html`<option key=${one.seconds} value=${String(one.seconds)}>${one.text}</option>`)}
      <//>
      ${problem && html`<${Failure} problem=${problem} compact />`}
    </form>
  <//>`;
}
