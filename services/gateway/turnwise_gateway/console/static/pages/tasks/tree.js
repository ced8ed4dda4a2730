import { html } from "../../lib/preact.js";
import { Icon, PlainText } from "../../parts/index.js";
import { showAgent } from "./agent.js";

function Box({ node, agent }) {
  const tools = agent.tools.length;
  return html`<button type="button" class="plan-box" onClick=${() => showAgent(agent.key)}>
    <span class="plan-name"><${PlainText} inline text=${node.name} limit=${60} /></span>
    <span class="plan-line"><${Icon} name="person" size="12" /> ${agent.name === node.name ? "its agent" : agent.name} · ${agent.model ?? "no model"}</span>
    ${tools > 0 && html`<span class="plan-line"><${Icon} name="tool" size="12" /> ${tools} ${tools === 1 ? "tool" : "tools"}</span>`}
    ${node.interactive && html`<span class="plan-line"><${Icon} name="chat" size="12" /> may ask a human</span>`}
    ${node.turns !== null && html`<span class="plan-line"><${Icon} name="clock" size="12" /> ends after ${node.turns} ${node.turns === 1 ? "turn" : "turns"}</span>`}
  </button>`;
}

function Node({ node, agents }) {
  return html`<li class="plan-node">
    <${Box} node=${node} agent=${agents.get(node.agent)} />
    ${node.sub_tasks.length > 0 && html`<ul class="plan-below">${node.sub_tasks.map((sub) => html`<${Node} key=${sub.path} node=${sub} agents=${agents} />`)}</ul>`}
  </li>`;
}

// The tree of tasks, each with the agent that answers for it; a task leads to its agent below.
export function Tree({ task }) {
  const agents = new Map(task.agents.map((agent) => [agent.key, agent]));
  return html`<div class="plan-frame" tabindex="0" role="region" aria-label="The tree of tasks"><ul class="plan"><${Node} node=${task.tree} agents=${agents} /></ul></div>`;
}
