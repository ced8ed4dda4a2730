// A page's other states: nothing there, a failure, and work under way.
import { html } from "../lib/preact.js";
import { Icon } from "./icon.js";

// Nothing to show: says why, and what to do. `action` is a link or a button.
export function Empty({ title, hint, action, icon }) {
  return html`<div class="state">
    ${icon && html`<${Icon} name=${icon} size="28" />`}
    <h2>${title}</h2>
    ${hint && html`<p>${hint}</p>`}
    ${action && html`<div class="state-action">${action}</div>`}
  </div>`;
}

// A problem in words, with its code; `retry` is called by its button.
export function Failure({ problem, retry, compact = false }) {
  const title = problem.title ?? "This page has a fault";
  const detail = problem.detail ?? problem.message;
  return html`<div class="failure ${compact ? "compact" : ""}" role="alert">
    <${Icon} name="warning" size=${compact ? 16 : 20} />
    <div>
      <strong>${title}</strong>
      <p>${detail}</p>
      ${problem.errors?.length > 1 &&
      html`<ul>
        ${problem.errors.map((one) => html`<li><code>${one.where}</code> ${one.message}</li>`)}
      </ul>`}
      ${problem.code && html`<p class="failure-code">${problem.status ? `${problem.status} ` : ""}<code>${problem.code}</code></p>`}
      ${retry && html`<button type="button" onClick=${() => retry()}>Try again</button>`}
    </div>
  </div>`;
}

export function Loading({ text = "Loading…" }) {
  return html`<div class="loading" role="status"><span class="spinner" aria-hidden="true" />${text}</div>`;
}
