import { html, useEffect, useState } from "../lib/preact.js";
import { keep, kept } from "../lib/settings.js";
import { Icon } from "../parts/icon.js";

const NEXT = { auto: "light", light: "dark", dark: "auto" };
const NAMES = { auto: "as the system", light: "light", dark: "dark" };

// Colours light, dark, or as the system has them.
export function ThemeButton() {
  const [theme, setTheme] = useState(() => kept("theme", "auto"));
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    keep("theme", theme === "auto" ? null : theme);
    // Canvases have to be drawn again.
    dispatchEvent(new Event("turnwise:theme"));
  }, [theme]);
  const label = `Colours: ${NAMES[theme]}. Change to ${NAMES[NEXT[theme]]}`;
  return html`<button type="button" class="icon-button" title=${label} aria-label=${label} onClick=${() => setTheme(NEXT[theme])}>
    <${Icon} name=${theme} />
  </button>`;
}
