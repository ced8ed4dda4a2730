import { api, Problem, signedOut } from "../../lib/api.js";
import { useCaller } from "../../lib/caller.js";
import { usePaged } from "../../lib/paged.js";
import { html, useState } from "../../lib/preact.js";
import { confirm, Empty, Failure, Loading, LoadMore, PlainText, SecretDialog, Table, Time, toast } from "../../parts/index.js";
import { NewKey } from "./new_key.js";
import { RotateKey } from "./rotate_key.js";

function stateOf(key) {
  if (key.revoked_at) return { text: "Revoked", tone: "bad", ended: true };
  const ended = key.expires_at !== null && new Date(key.expires_at) <= Date.now();
  if (ended) return { text: key.replaced_by ? "Replaced" : "Expired", tone: "quiet", ended };
  return key.replaced_by ? { text: "Being replaced", tone: "warning", ended, replaced: true } : { text: "Works", tone: "good", ended };
}

function KeyState({ of: key }) {
  const { text, tone } = stateOf(key);
  return html`<span class="badge ${tone}"><span class="badge-sign" aria-hidden="true" />${text}</span>`;
}

function isOwn(key, caller) {
  return caller.name === `key:${key.prefix.replace(/^tw_/, "")}`;
}

// The gateway may remember the key for a few seconds more; this page does not wait for that.
async function leave() {
  await api.delete("v1/sign-in");
  signedOut(new Problem({ status: 401, code: "unauthorized", title: "Signed out" }));
}

async function revoke(key, caller, reload) {
  const own = isOwn(key, caller);
  const body = html`<p><${PlainText} inline text=${key.name} limit=${100} /> (<code>${key.prefix}</code>) is refused everywhere within 5 seconds, for good. Its open event streams end.</p>
    ${own && html`<p><strong>You are signed in with this key</strong>, and will be signed out.</p>`}`;
  if (!(await confirm({ title: "Revoke this key?", body, action: "Revoke", danger: true }))) return;
  try {
    await api.delete(`v1/keys/${key.id}`);
    toast(`${key.prefix} is revoked`, "good");
    if (own) await leave();
  } catch (problem) {
    toast(problem.detail, "bad");
  }
  reload();
}

function columns(caller, actions) {
  return [
    { title: "Name", render: (key) => html`<${PlainText} text=${key.name} limit=${100} /><code class="faint small">${key.prefix}</code><div class="narrow-only small soft">${key.tenant}: ${key.scopes.join(", ")}</div>` },
    { title: "State", render: (key) => html`<${KeyState} of=${key} />` },
    ...(caller.operator ? [{ title: "Tenant", narrow: false, render: (key) => key.tenant }] : []),
    { title: "Scopes", narrow: false, render: (key) => html`<span class="key-scopes">${key.scopes.map((scope) => html`<span key=${scope} class="tag">${scope}</span>`)}</span>` },
    { title: "Last used", narrow: false, render: (key) => (key.last_used_at ? html`<span class="number"><${Time} iso=${key.last_used_at} relative /></span>` : html`<span class="absent">never</span>`) },
    { title: "Expires", narrow: false, render: (key) => (key.expires_at ? html`<span class="number"><${Time} iso=${key.expires_at} relative /></span>` : html`<span class="absent">never</span>`) },
    { title: "Made", narrow: false, render: (key) => html`<span class="number"><${Time} iso=${key.created_at} relative /></span> <span class="faint">by <${PlainText} inline text=${key.created_by} limit=${100} /></span>` },
    { title: "Actions", align: "end", render: actions },
  ];
}

// The keys of the tenants that one administers. A secret is in this page's memory only while its dialog is open.
export function Keys() {
  const caller = useCaller();
  const paged = usePaged("v1/keys");
  const [making, setMaking] = useState(false);
  const [rotating, setRotating] = useState(null);
  const [made, setMade] = useState(null);
  // Also without an answer a key may have been made.
  const closed = () => {
    setMaking(false);
    setRotating(null);
    paged.reload();
  };
  const kept = (key) => {
    closed();
    setMade(key);
  };
  const actions = (key) => {
    const { ended, replaced } = stateOf(key);
    if (ended) return null;
    return html`<span class="row-actions">
      ${!replaced && html`<button type="button" aria-label="Rotate ${key.name}" onClick=${() => setRotating(key)}>Rotate</button>`}
      <button type="button" aria-label="Revoke ${key.name}" onClick=${() => revoke(key, caller, paged.reload)}>Revoke</button>
    </span>`;
  };
  const unused = caller.authentication !== "keys";
  const none = !paged.items.length && !paged.loading && !paged.error && !unused;
  const make = html`<button type="button" class="primary" disabled=${caller.authentication === "none"} onClick=${() => setMaking(true)}>New key</button>`;
  return html`
    ${unused && html`<p class="notice">This server runs with <code>TURNWISE_AUTH=${caller.authentication}</code>, so it takes no keys. Set <code>TURNWISE_AUTH=keys</code> to use them.</p>`}
    <div class="toolbar"><p class="soft">Programs and people sign in with a key of a tenant. Give each its own, so that one can be revoked without the others.</p>${make}</div>
    ${paged.error && html`<${Failure} problem=${paged.error} retry=${paged.reload} compact=${paged.items.length > 0} />`}
    ${!paged.items.length && paged.loading && html`<${Loading} />`}
    ${none && html`<${Empty} icon="administration" title="No keys" hint="The first key of an installation is made with the command turnwise keys create." />`}
    ${paged.items.length > 0 && html`<${Table} caption="Keys" rows=${paged.items} rowKey=${(key) => key.id} columns=${columns(caller, actions)} />`}
    <${LoadMore} paged=${paged} />
    ${making && html`<${NewKey} onClose=${closed} onMade=${kept} />`}
    ${rotating && html`<${RotateKey} of=${rotating} own=${isOwn(rotating, caller)} onClose=${closed} onMade=${kept} />`}
    ${made && html`<${SecretDialog} title=${html`The key of <${PlainText} inline text=${made.name} limit=${100} />`} text=${made.secret} onClose=${() => setMade(null)}>
      <p>Copy it now to where it is used: the server keeps only a hash of it${made.expires_at ? html`. It works until <${Time} iso=${made.expires_at} />` : ""}.</p>
    <//>`}
  `;
}
