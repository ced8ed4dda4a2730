import { html } from "../../../lib/preact.js";
import { Dialog, Failure } from "../../../parts/index.js";

// A dialog around an action: its form, its problem if it has failed, and the button that sends it.
export function ActionDialog({ title, action, doing, danger = false, busy, problem, disabled = false, wide = false, onSend, onClose, children }) {
  const submit = (event) => {
    event.preventDefault();
    if (!busy && !disabled) onSend();
  };
  const hurried = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  };
  return html`<${Dialog} title=${title} onClose=${onClose} wide=${wide}>
    <form class="action" onSubmit=${submit} onKeyDown=${hurried}>
      ${children}
      ${problem && html`<${Failure} problem=${problem} compact />`}
      <div class="action-buttons">
        <button type="button" onClick=${onClose}>Back</button>
        <button type="submit" class=${danger ? "danger" : "primary"} disabled=${busy || disabled}>${busy ? doing : action}</button>
      </div>
    </form>
  <//>`;
}
