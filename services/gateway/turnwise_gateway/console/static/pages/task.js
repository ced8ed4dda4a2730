import { api } from "../lib/api.js";
import { useCaller } from "../lib/caller.js";
import { useData } from "../lib/hooks.js";
import { html } from "../lib/preact.js";
import { link } from "../lib/router.js";
import { Failure, Loading, Page } from "../parts/index.js";
import { Agent } from "./tasks/agent.js";
import { Start } from "./tasks/start.js";
import { Tree } from "./tasks/tree.js";

function Content({ task }) {
  const writes = useCaller().scopes.includes("runs:write");
  return html`<div class="task-page">
    <div class="task-about">
      <section class="card" aria-labelledby="task-tree"><h2 id="task-tree">Tasks and agents</h2><${Tree} task=${task} /></section>
      <section aria-labelledby="task-agents">
        <h2 id="task-agents">Agents and tools</h2>
        ${task.agents.map((agent) => html`<${Agent} key=${agent.key} agent=${agent} />`)}
      </section>
    </div>
    <section class="card task-start" aria-labelledby="task-start">
      <h2 id="task-start">Start a run</h2>
      ${writes ? html`<${Start} task=${task} />` : html`<p class="soft">Your key or token may not submit runs: that needs the scope runs:write.</p>`}
    </section>
  </div>`;
}

// One task: the tasks and agents that a run of it consists of, their tools, and a form that starts one.
export default function TaskPage({ route }) {
  const [name] = route.parts;
  const { data, error, loading, reload } = useData(({ signal }) => api.get(`v1/tasks/${encodeURIComponent(name)}`, {}, { signal }), [], { about: name });
  const note = data && `${data.application}, version ${data.version}${data.keeps_conversation ? " · keeps its conversation in a session" : ""}`;
  return html`<${Page} title=${name} tab=${`Task ${name}`} note=${note} actions=${html`<a class="button" href=${link("runs", [], { task: name })}>Its runs</a>`}>
    ${error && html`<${Failure} problem=${error} retry=${reload} />`}
    ${!data && loading && html`<${Loading} />`}
    ${data && html`<${Content} key=${name} task=${data} />`}
  <//>`;
}
