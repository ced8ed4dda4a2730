import { total, useInboxCount } from "../../lib/inbox.js";
import { html } from "../../lib/preact.js";

// The number of what waits, beside the page's name in the navigation.
export function InboxBadge() {
  const number = total(useInboxCount());
  return html`<span class="nav-badge-place" role="status">${number > 0 && html`<span class="nav-badge">${number > 999 ? "999+" : number}<span class="visually-hidden"> waiting</span></span>`}</span>`;
}
