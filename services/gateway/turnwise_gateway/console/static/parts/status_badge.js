import { status } from "../lib/format.js";
import { html } from "../lib/preact.js";

// A status by colour, sign and word: no one has to tell colours apart. With `code`, how the run ended, where that says more.
export function StatusBadge({ status: name, code }) {
  const { text, tone } = status(name);
  const more = code && !["OK", "DONE", "ERROR", "KILL"].includes(code) ? code : null;
  return html`<span class="badge ${tone}"><span class="badge-sign" aria-hidden="true" />${text}${more && html`<span class="badge-code">${more}</span>`}</span>`;
}
