import { scopeInWords } from "../lib/caller.js";
import { html, useState } from "../lib/preact.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { Failure } from "../parts/states.js";
import { Time } from "../parts/values.js";

function Facts({ caller }) {
  return html`<dl class="fact-list">
    <div><dt>Name</dt><dd><code>${caller.name}</code></dd></div>
    <div><dt>Tenant</dt><dd>${caller.tenant}${caller.operator && html` <span class="tag">operator</span>`}</dd></div>
    <div><dt>May</dt><dd><ul>${caller.scopes.map((scope) => html`<li key=${scope}><code>${scope}</code> <span class="soft">${scopeInWords(scope)}</span></li>`)}${!caller.scopes.length && html`<li class="absent">nothing</li>`}</ul></dd></div>
    <div><dt>Ends</dt><dd>${caller.expires_at ? html`<${Time} iso=${caller.expires_at} /> (<${Time} iso=${caller.expires_at} relative />)` : "never, unless it is revoked"}</dd></div>
  </dl>`;
}

// Who is signed in, in the navigation; its dialog says what one may do, and signs out.
export function Account({ session }) {
  const { caller, signOut } = session;
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState(null);
  const free = caller.authentication === "none";
  const leave = () => signOut().catch((error) => error.status !== 401 && setProblem(error));
  const footer = !free && html`<button type="button" onClick=${leave}><${Icon} name="leave" /> Sign out</button>`;
  const title = free ? "No sign-in is needed" : "You are signed in";
  return html`
    <button type="button" class="account" aria-haspopup="dialog" title=${title} onClick=${() => setOpen(true)}>
      <${Icon} name="person" />
      <span class="account-text">
        <span class="account-name">${free ? "This machine" : caller.name}</span>
        <span class="account-tenant">${caller.tenant}</span>
      </span>
    </button>
    ${open && html`<${Dialog} title=${title} onClose=${() => setOpen(false)} footer=${footer}>
      ${problem && html`<${Failure} problem=${problem} compact />`}
      ${free
        ? html`<p>This server answers only its own machine, and everyone there may do everything. Set <code>TURNWISE_AUTH=keys</code> to let others in with keys of their own.</p>`
        : html`<${Facts} caller=${caller} />`}
    <//>`}
  `;
}
