import { html, useLayoutEffect, useRef } from "../../lib/preact.js";
import { Failure, Field, Icon } from "../../parts/index.js";

// Where the person writes. Enter sends, Shift+Enter begins a line. `asker`: who waits for an answer, or null.
export function Composer({ text, onText, onSend, onStop, asker, running, busy, problem, onRetry, focused, sent }) {
  const form = useRef(null);
  const focus = () => form.current.querySelector("textarea").focus({ preventScroll: true });
  useLayoutEffect(focus, [focused]);
  // Unless the person is elsewhere on the page by now; a page that is opened has the focus as a whole.
  useLayoutEffect(() => {
    const { activeElement } = document;
    if (activeElement.matches("body, main") || form.current.contains(activeElement)) focus();
  }, [sent, asker]);
  const canSend = !busy && text.trim() !== "" && (!running || asker !== null);
  const send = () => canSend && onSend(text);
  const keys = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  };
  const label = asker !== null ? `Your answer to ${asker}` : "Your message";
  const rows = Math.min(8, Math.max(2, text.split("\n", 9).length));
  return html`<form class="composer" ref=${form} onSubmit=${(event) => (event.preventDefault(), send())}>
    ${problem && html`<${Failure} problem=${problem} retry=${onRetry} compact />`}
    <${Field} as="textarea" label=${label} rows=${rows} value=${text} onInput=${(event) => onText(event.target.value)} onKeyDown=${keys} />
    <div class="composer-buttons">
      <span class="field-hint">${running && asker === null ? "The run goes on. Stop it, or wait for its answer." : "Enter sends, Shift+Enter begins a new line."}</span>
      ${running && html`<button type="button" onClick=${onStop}><${Icon} name="stop" />Stop</button>`}
      <button class="primary" disabled=${!canSend}><${Icon} name="send" />${busy ? "Sending…" : asker !== null ? "Answer" : "Send"}</button>
    </div>
  </form>`;
}
