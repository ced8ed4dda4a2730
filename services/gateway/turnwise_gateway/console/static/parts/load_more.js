import { html } from "../lib/preact.js";

// Below a list that comes page by page (`usePaged`).
export function LoadMore({ paged }) {
  if (!paged.hasMore) return null;
  return html`<div class="load-more"><button type="button" disabled=${paged.loading} onClick=${paged.more}>${paged.loading ? "Loading…" : "Show more"}</button></div>`;
}
