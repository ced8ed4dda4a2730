import { address } from "../lib/api.js";
import { useNarrow } from "../lib/hooks.js";
import { html } from "../lib/preact.js";
import { link } from "../lib/router.js";
import { Icon } from "../parts/icon.js";
import { Brand } from "./brand.js";
import { ThemeButton } from "./theme.js";

// The pages: at the left, and at the bottom of a narrow screen.
export function Navigation({ pages, current, account, onKeys }) {
  const narrow = useNarrow();
  return html`<header class="side">
    <${Brand} />
    <nav class="pages" aria-label="Pages">
      <ul>
        ${pages.map(
          (page) => html`<li key=${page.id}>
            <a href=${link(page.id)} aria-current=${page.id === current ? "page" : undefined} title="${page.title} (g ${page.key})">
              <${Icon} name=${page.icon} /><span class="nav-title">${narrow ? (page.short ?? page.title) : page.title}</span>${page.badge && html`<${page.badge} />`}
            </a>
          </li>`,
        )}
      </ul>
    </nav>
    <div class="side-end">
      ${account}
      <div class="side-tools">
        <${ThemeButton} />
        <button type="button" class="icon-button keys-button" title="Keyboard (?)" aria-label="Keyboard shortcuts" onClick=${onKeys}><${Icon} name="keyboard" /></button>
        <a class="icon-button" href=${address("docs").href} title="The HTTP API" aria-label="The HTTP API" target="_blank" rel="noopener"><${Icon} name="link" /></a>
      </div>
    </div>
  </header>`;
}
