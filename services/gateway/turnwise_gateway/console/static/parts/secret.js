import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icon.js";

// The browser's clipboard exists only on pages of HTTPS or localhost; elsewhere the selected text is copied the old way.
async function copied(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return document.execCommand("copy");
  }
}

// A secret that is shown this once, with a button that copies it.
export function SecretDialog({ title, text, children, onClose }) {
  const shown = useRef(null);
  const [state, setState] = useState("");
  useEffect(() => {
    if (!state) return undefined;
    const timer = setTimeout(() => setState(""), 4000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => setState((await copied(text, shown.current)) ? "Copied" : "Select the text and copy it yourself");
  const footer = html`<button type="button" class="primary" onClick=${onClose}>I have kept it</button>`;
  return html`<${Dialog} title=${title} onClose=${onClose} footer=${footer} firm>
    ${children}
    <div class="secret">
      <code ref=${shown} class="secret-text">${text}</code>
      <button type="button" onClick=${copy}><${Icon} name="copy" /> Copy</button>
    </div>
    <p class="field-hint" role="status" aria-live="polite">${state || "It is shown this once."}</p>
  <//>`;
}
