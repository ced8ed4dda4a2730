import { html, useEffect, useId, useState } from "../lib/preact.js";

// A labelled input: `as` is input, textarea or select (whose options are the children). All else goes to the control.
export function Field({ label, hint, error, as = "input", hideLabel = false, children, class: own = "", ...control }) {
  const id = useId();
  const about = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ") || undefined;
  const common = { id, "aria-describedby": about, "aria-invalid": error ? "true" : undefined, ...control };
  return html`<div class="field ${own}">
    <label for=${id} class=${hideLabel ? "visually-hidden" : ""}>${label}</label>
    ${as === "textarea" && html`<textarea ...${common} />`}
    ${as === "select" && html`<select ...${common}>${children}</select>`}
    ${as === "input" && html`<input type="text" autocomplete="off" spellcheck=${false} ...${common} />`}
    ${hint && html`<p class="field-hint" id="${id}-hint">${hint}</p>`}
    ${error && html`<p class="field-error" id="${id}-error">${error}</p>`}
  </div>`;
}

// A field whose text is `onSet` once Enter is pressed or the field is left. The text is kept meanwhile: a page that is
// drawn again, as by a list that refreshes, would empty a field without a state of its own.
export function TypedField({ value = "", onSet, ...more }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return html`<${Field} ...${more} value=${text} onInput=${(event) => setText(event.currentTarget.value)} onChange=${(event) => onSet(event.currentTarget.value.trim())} />`;
}
