import { ago, money, time, tokens } from "../lib/format.js";
import { useNow } from "../lib/hooks.js";
import { html } from "../lib/preact.js";

// A time of the API in the reader's zone; `relative` says how long ago it was.
export function Time({ iso, relative = false }) {
  useNow(relative ? 10 : 3600);
  if (!iso) return html`<span class="absent">–</span>`;
  return html`<time datetime=${iso} title=${iso}>${relative ? ago(iso) : time(iso)}</time>`;
}

// Money of the API; the title has all its digits.
export function Money({ value }) {
  return html`<span class="number" title=${value ? `$${value}` : undefined}>${money(value)}</span>`;
}

export function Tokens({ value }) {
  return html`<span class="number" title=${value ?? undefined}>${tokens(value)}</span>`;
}
