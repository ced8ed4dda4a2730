import { html } from "../lib/preact.js";

// A part of a whole, `value` of `max`. Without a `max` there is no limit, and so no bar. `plain`: to be full is nothing bad.
export function Bar({ value, max, label, text, plain = false }) {
  const share = max > 0 ? Math.min(1, Number(value) / Number(max)) : null;
  const tone = share === null || plain ? "" : share >= 1 ? "bad" : share >= 0.8 ? "warning" : "";
  return html`<div class="bar-row">
    <span class="bar-label">${label}</span>
    ${share === null
      ? html`<span class="bar-track none" />`
      : html`<span class="bar-track" role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax=${max} aria-valuenow=${Math.min(Number(value), Number(max))}>
          <span class="bar-fill ${tone}" style=${{ width: `${(share * 100).toFixed(1)}%` }} />
        </span>`}
    <span class="bar-text number">${text ?? (max > 0 ? `${value} of ${max}` : value)}</span>
  </div>`;
}
