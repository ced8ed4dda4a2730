import { scopeInWords } from "../lib/caller.js";
import { html } from "../lib/preact.js";
import { Page } from "../parts/page.js";
import { Empty } from "../parts/states.js";

// In place of a page that needs a scope which the caller does not have; without `page`, of all.
export function ClosedPage({ page }) {
  const scope = page?.scope ?? "runs:read";
  const title = page ? "Your key or token does not open this page" : "There is nothing that you may see";
  const hint = `It needs the scope ${scope}: to ${scopeInWords(scope)}. Ask whoever gave it to you for that, or sign in with another one.`;
  return html`<main id="main" tabindex="-1">
    <${Page} title=${page?.title ?? "No page"}><${Empty} icon="person" title=${title} hint=${hint} /><//>
  </main>`;
}
