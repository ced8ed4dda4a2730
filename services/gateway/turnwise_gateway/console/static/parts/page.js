import { html } from "../lib/preact.js";
import { useTitle } from "../lib/title.js";
import { visible } from "./plain_text.js";

// The frame of a page: its heading, which names the tab as well, what belongs beside it, and the content. `fill`: the
// content takes the height of the window and scrolls by itself.
export function Page({ title, tab, note, actions, fill = false, children }) {
  useTitle(visible(tab ?? title));
  return html`<div class="page ${fill ? "fill" : ""}">
    <header class="page-head">
      <h1>${title}</h1>
      ${note && html`<div class="page-note">${note}</div>`}
      ${actions && html`<div class="page-actions">${actions}</div>`}
    </header>
    ${children}
  </div>`;
}
