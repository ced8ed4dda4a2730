import { html, useId, useState } from "../../lib/preact.js";
import { Dialog, Failure, Field, PlainText, useAction } from "../../parts/index.js";

const OVERLAPS = [
  { seconds: 0, text: "It ends at once" },
  { seconds: 3_600, text: "One more hour" },
  { seconds: 86_400, text: "One more day" },
  { seconds: 604_800, text: "One more week" },
];

// A new key in place of another; `onMade` gets it with its secret. `own`: the key that this page is signed in with. It does
// not end at once, because the sign-in would end with it, before anyone has seen the new secret.
export function RotateKey({ of: key, own, onClose, onMade }) {
  const [overlap, setOverlap] = useState(86_400);
  const { busy, problem, send } = useAction();
  const form = useId();
  const overlaps = own ? OVERLAPS.filter((one) => one.seconds > 0) : OVERLAPS;

  const submit = async (event) => {
    event.preventDefault();
    const made = await send("post", `v1/keys/${key.id}/rotate`, { overlap });
    if (made) onMade(made);
  };

  const footer = html`
    <button type="button" onClick=${onClose}>Back</button>
    <button type="submit" form=${form} class="primary" disabled=${busy}>Rotate</button>
  `;
  return html`<${Dialog} title=${html`Rotate <${PlainText} inline text=${key.name} limit=${100} />`} onClose=${onClose} footer=${footer}>
    <form id=${form} class="form" onSubmit=${submit}>
      <p>A new key with the same tenant, name, scopes and lifetime takes the place of <code>${key.prefix}</code>.</p>
      ${own && html`<p><strong>You are signed in with this key.</strong> To end it sooner, revoke it once you have kept the new one.</p>`}
      <${Field} label="How long the old key still works" as="select" value=${String(overlap)} onChange=${(event) => setOverlap(Number(event.target.value))}>
        ${overlaps.map((one) => html`<option key=${one.seconds} value=${String(one.seconds)}>${one.text}</option>`)}
      <//>
      ${problem && html`<${Failure} problem=${problem} compact />`}
    </form>
  <//>`;
}
