import { SCOPES, scopeInWords, useCaller } from "../../lib/caller.js";
import { html, useId, useState } from "../../lib/preact.js";
import { Dialog, Failure, Field, useAction } from "../../parts/index.js";

const DAY = 86_400;
const LIFETIMES = [
  { days: 7, text: "7 days" },
  { days: 30, text: "30 days" },
  { days: 90, text: "90 days" },
  { days: 365, text: "A year" },
  { days: 0, text: "Until it is revoked" },
];

function ScopeBoxes({ chosen, onChange }) {
  const id = useId();
  const toggle = (scope) => onChange(chosen.includes(scope) ? chosen.filter((one) => one !== scope) : [...chosen, scope]);
  return html`<fieldset class="scope-choices">
    <legend>It may</legend>
    ${SCOPES.map(
      (scope) => html`<div key=${scope} class="scope-choice">
        <input type="checkbox" id="${id}-${scope}" checked=${chosen.includes(scope)} onChange=${() => toggle(scope)} />
        <label for="${id}-${scope}">${scopeInWords(scope)} <code class="faint">${scope}</code></label>
      </div>`,
    )}
  </fieldset>`;
}

// The form of a new key; `onMade` gets it with its secret.
export function NewKey({ onClose, onMade }) {
  const caller = useCaller();
  const [name, setName] = useState("");
  const [tenant, setTenant] = useState(caller.tenant);
  const [days, setDays] = useState(90);
  const [scopes, setScopes] = useState(["runs:read", "runs:write"]);
  const { busy, problem, send } = useAction();
  const form = useId();

  const submit = async (event) => {
    event.preventDefault();
    const body = { name: name.trim(), scopes, tenant: tenant.trim(), ...(days ? { expires_in: days * DAY } : {}) };
    const made = await send("post", "v1/keys", body);
    if (made) onMade(made);
  };

  const footer = html`
    <button type="button" onClick=${onClose}>Back</button>
    <button type="submit" form=${form} class="primary" disabled=${busy || !scopes.length}>Make the key</button>
  `;
  return html`<${Dialog} title="New key" onClose=${onClose} footer=${footer}>
    <form id=${form} class="form" onSubmit=${submit}>
      <${Field} label="Name" hint="Who or what uses it, for example: the shop's backend" required maxlength="100" autofocus value=${name} onInput=${(event) => setName(event.target.value)} />
      ${caller.operator && html`<${Field} label="Tenant" hint="A tenant begins with its first key." required value=${tenant} onInput=${(event) => setTenant(event.target.value)} />`}
      <${ScopeBoxes} chosen=${scopes} onChange=${setScopes} />
      <${Field} label="It works for" as="select" value=${String(days)} onChange=${(event) => setDays(Number(event.target.value))}>
        ${LIFETIMES.map((one) => html`<option key=${one.days} value=${String(one.days)}>${one.text}</option>`)}
      <//>
      ${problem && html`<${Failure} problem=${problem} compact />`}
    </form>
  <//>`;
}
