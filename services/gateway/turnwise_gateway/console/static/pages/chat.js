import { api } from "../lib/api.js";
import { useOwner } from "../lib/caller.js";
import { useData } from "../lib/hooks.js";
import { useKeys } from "../lib/keys.js";
import { html, useEffect, useState } from "../lib/preact.js";
import { go, link } from "../lib/router.js";
import { Empty, Failure, Field, Icon, Loading, Page, PlainText } from "../parts/index.js";
import { Conversation } from "./chat/conversation.js";
import { remember, remembered } from "./chat/remembered.js";
import { Sessions } from "./chat/sessions.js";

function Choice({ tasks }) {
  return html`<ul class="chat-tasks">
    ${tasks.map(
      (task) => html`<li key=${task.name}>
        <a class="card" href=${link("chat", [task.name])}>
          <strong><${PlainText} text=${task.name} limit=${100} inline /></strong>
          <span class="soft small">${task.keeps_conversation ? "Remembers what was said in a session" : "Each message begins anew"}</span>
        </a>
      </li>`,
    )}
  </ul>`;
}

function TaskSelect({ tasks, current }) {
  return html`<${Field} as="select" label="Task" value=${current} onChange=${(event) => go("chat", [event.target.value])}>
    ${tasks.map((task) => html`<option key=${task.name} value=${task.name}>${task.name}</option>`)}
  <//>`;
}

// Talking with a task, in sessions.
export default function ChatPage({ route }) {
  const owner = useOwner();
  const { data, error, loading, reload } = useData(({ signal }) => api.get("v1/tasks", {}, { signal }), []);
  const [sessions, setSessions] = useState(() => remembered(owner));
  const [life, setLife] = useState(0);
  const tasks = data?.items ?? [];
  const wanted = route.parts[0] ?? (tasks.length === 1 ? tasks[0].name : null);
  const task = tasks.find((one) => one.name === wanted) ?? null;
  const session = route.query.get("session");
  // A session that begins here is in the address only afterwards, and stays the same conversation.
  const [begun, setBegun] = useState(null);
  const shown = session !== null && session === begun?.session ? begun.life : session;
  useEffect(() => {
    if (task && session && session !== begun?.session) {
      remember(owner, task.name, session);
      setSessions(remembered(owner));
    }
  }, [task?.name, session]);

  const again = () => {
    setLife(life + 1);
    setBegun(null);
    if (task) go("chat", [task.name]);
  };
  useKeys(task ? [{ keys: ["n"], does: "New session", run: again }] : [], [task?.name, life]);
  const actions = html`${task && html`<button type="button" onClick=${again}><${Icon} name="plus" />New session</button>`}`;
  return html`<${Page} title="Chat" tab=${task ? `Chat: ${task.name}` : "Chat"} actions=${actions} fill>
    ${error && html`<${Failure} problem=${error} retry=${reload} compact=${data !== null} />`}
    ${!data && loading && html`<${Loading} />`}
    ${data && !tasks.length && html`<${Empty} icon="chat" title="The application has no tasks" hint="A task of the application is a function with the decorator app.task." />`}
    ${data && tasks.length > 0 && wanted !== null && !task && html`<${Empty} icon="chat" title="There is no such task" hint="The address names a task that the application does not have." action=${html`<a class="button" href=${link("chat")}>Choose a task</a>`} />`}
    ${data && tasks.length > 0 && wanted === null && html`<p class="soft">Choose the task to talk with.</p><${Choice} tasks=${tasks} /><${Sessions} owner=${owner} sessions=${sessions} onForget=${() => setSessions(remembered(owner))} />`}
    ${task &&
    html`<div class="chat">
      <aside class="chat-side" aria-label="Task and sessions">
        <${TaskSelect} tasks=${tasks} current=${task.name} />
        <${Sessions} owner=${owner} sessions=${sessions} current=${session} onForget=${() => setSessions(remembered(owner))} />
      </aside>
      <${Conversation} key=${`${task.name} ${shown ?? life}`} task=${task} session=${session}
        onBegun=${(made, isShown) => {
          remember(owner, task.name, made);
          if (isShown) setBegun({ session: made, life });
          setSessions(remembered(owner));
        }} />
    </div>`}
  <//>`;
}
