import { api } from "../lib/api.js";
import { useData } from "../lib/hooks.js";
import { useListKeys } from "../lib/list_keys.js";
import { html } from "../lib/preact.js";
import { go, link } from "../lib/router.js";
import { Empty, Failure, Loading, Page, PlainText } from "../parts/index.js";

function Task({ task, active }) {
  const below = task.paths.length - 1;
  return html`<li class="card task-card ${active ? "marked" : ""}">
    <h2><a href=${link("tasks", [task.name])}><${PlainText} inline text=${task.name} limit=${120} /></a></h2>
    <p class="soft">${below ? html`Calls ${below} ${below === 1 ? "task" : "tasks"}: <span class="faint">${task.paths.slice(1).map((path) => path.split("/").slice(1).join(" / ")).join(", ")}</span>` : "A single task"}</p>
    <p class="pills">
      <span class="tag">${task.application}</span>
      <span class="tag">version ${task.version}</span>
      ${task.keeps_conversation && html`<span class="tag" title="A run of a session goes on with the one before it">keeps its conversation</span>`}
    </p>
    <p class="row-actions">
      <a class="button" href=${link("tasks", [task.name])}>Open</a>
      <a class="button" href=${link("runs", [], { task: task.name })}>Its runs</a>
    </p>
  </li>`;
}

// The tasks of the application, of which runs can be made.
export default function TasksPage() {
  const { data, error, loading, reload } = useData(({ signal }) => api.get("v1/tasks", {}, { signal }), []);
  const tasks = data?.items ?? [];
  const [active] = useListKeys({ items: tasks, itemKey: (task) => task.name, noun: "task", onOpen: (index) => go("tasks", [tasks[index].name]) });
  return html`<${Page} title="Tasks" note=${data ? `${tasks.length} of the application` : null}>
    ${error && html`<${Failure} problem=${error} retry=${reload} />`}
    ${!data && loading && html`<${Loading} />`}
    ${data && !tasks.length && html`<${Empty} icon="tasks" title="The application has no tasks" hint="Decorate a function that returns a Task with @app.task, and start the server anew." />`}
    <ul class="task-list">${tasks.map((task, index) => html`<${Task} key=${task.name} task=${task} active=${index === active} />`)}</ul>
  <//>`;
}
