import { api } from "../../lib/api.js";
import { useDraft } from "../../lib/drafts.js";
import { runPath } from "../../lib/live.js";
import { html } from "../../lib/preact.js";
import { Failure, Field, Icon, PlainText } from "../../parts/index.js";
import { formKeys, useSending } from "./sending.js";

// A question to a human, and the form of its answer.
export function Question({ item, onDone }) {
  const [draft, change] = useDraft(item.id);
  const post = (body, idempotencyKey) => api.post(runPath(item.run, "/messages"), { question: item.id, ...body }, { idempotencyKey });
  const { send, busy, problem } = useSending(post, onDone);
  const text = draft.text ?? "";
  const submit = (event) => {
    event.preventDefault();
    if (text.trim()) send({ text });
  };
  return html`<div class="inbox-asked" tabindex="0" role="region" aria-label="The question"><${PlainText} text=${item.text || "(a question without a text)"} limit=${6000} /></div>
    <form class="inbox-form" onSubmit=${submit} onKeyDown=${formKeys}>
      <${Field} as="textarea" label="Your answer" rows="3" value=${text} data-field disabled=${item.closed} onInput=${(event) => change({ text: event.target.value })} />
      ${problem && html`<${Failure} problem=${problem} compact />`}
      ${!item.closed &&
      html`<div class="inbox-buttons">
        <button class="primary" disabled=${busy || !text.trim()}><${Icon} name="send" />${busy ? "Sending…" : "Send"}<kbd class="in-button">Ctrl ↵</kbd></button>
        <button type="button" disabled=${busy} title="An empty answer: the task takes its default, or others are asked" onClick=${() => send({ text: "" })}>Skip</button>
      </div>`}
    </form>`;
}
