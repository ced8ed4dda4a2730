import { runPath } from "../../../lib/live.js";
import { html, useState } from "../../../lib/preact.js";
import { Failure, Field, toast, useAction } from "../../../parts/index.js";

// The answer to the question that the run waits with.
export function Answer({ run, onChanged }) {
  const [text, setText] = useState("");
  const { busy, problem, send } = useAction();
  const question = run.waiting_for.question;
  const submit = async (event) => {
    event.preventDefault();
    const now = await send("post", runPath(run.id, "/messages"), { text, question });
    if (!now) return;
    setText("");
    toast("The answer is sent.", "good");
    onChanged(now);
  };
  const hurried = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  };
  return html`<form class="answer" onSubmit=${submit} onKeyDown=${hurried}>
    <${Field} as="textarea" rows="2" label="Your answer" hint="Ctrl+Enter sends it. An empty answer takes the question's default, where it has one." value=${text} onInput=${(event) => setText(event.currentTarget.value)} />
    ${problem && html`<${Failure} problem=${problem} compact />`}
    <div class="action-buttons"><button type="submit" class="primary" disabled=${busy}>${busy ? "Sending…" : "Answer"}</button></div>
  </form>`;
}
