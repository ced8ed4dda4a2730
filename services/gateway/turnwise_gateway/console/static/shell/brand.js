import { html } from "../lib/preact.js";

export function Brand() {
  return html`<a class="brand" href="#/" aria-label="Turnwise, first page">
    <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" />
      <path d="M8 11h12a4 4 0 0 1 4 4M24 21H12a4 4 0 0 1-4-4" />
    </svg>
    <span>Turnwise</span>
  </a>`;
}
