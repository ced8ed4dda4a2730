import { duration } from "../../lib/format.js";
import { writeJson } from "../../lib/json.js";
import { html, useEffect, useRef, useState } from "../../lib/preact.js";
import { Json, PlainText } from "../../parts/index.js";

const wanted = new EventTarget();

// Bring an agent into sight.
export function showAgent(key) {
  wanted.dispatchEvent(new CustomEvent("agent", { detail: key }));
}

const EFFECTS = {
  read_only: { text: "Read only", tone: "good", told: "It changes nothing, so a crash lets it be called again." },
  idempotent: { text: "Idempotent", tone: "active", told: "With the same key it is done once, so a crash lets it be called again." },
  once: { text: "Once", tone: "warning", told: "It may not be done twice, so after a crash a person says whether it happened." },
};

function Effect({ effect }) {
  if (!effect) return null;
  const { text, tone, told } = EFFECTS[effect] ?? { text: effect, tone: "quiet", told: "" };
  return html`<span class="badge ${tone}" title=${told}><span class="badge-sign" aria-hidden="true" />${text}</span>`;
}

function typeOf(schema) {
  if (schema.enum) return schema.enum.map((value) => writeJson(value)).join(" or ");
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return several.map(typeOf).join(" or ");
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.type === "array") return `list of ${schema.items ? typeOf(schema.items) : "anything"}`;
  return Array.isArray(schema.type) ? schema.type.join(" or ") : (schema.type ?? "anything");
}

function Parameters({ schema }) {
  if (!schema) return html`<p class="soft">Its fields have types that no schema describes.</p>`;
  const fields = Object.entries(schema.properties ?? {});
  const required = new Set(schema.required ?? []);
  return html`
    ${!fields.length && html`<p class="soft">It takes nothing.</p>`}
    <dl class="parameters">
      ${fields.map(
        ([name, field]) => html`<div key=${name}>
          <dt><code><${PlainText} inline text=${name} limit=${80} /></code></dt>
          <dd>
            <span class="soft">${typeOf(field)}${required.has(name) ? "" : ", optional"}</span>
            ${field.description && html` – <${PlainText} inline text=${field.description} limit=${600} />`}
          </dd>
        </div>`,
      )}
    </dl>
    <details class="schema"><summary>JSON schema</summary><${Json} value=${schema} open=${3} /></details>
  `;
}

function Tool({ tool }) {
  const [open, setOpen] = useState(false);
  return html`<details class="tool" onToggle=${(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
    <summary>
      <code class="tool-name"><${PlainText} inline text=${tool.name} limit=${80} /></code>
      <span class="tool-purpose ellipsis"><${PlainText} inline text=${tool.purpose} limit=${200} /></span>
      <${Effect} effect=${tool.effect} />
    </summary>
    ${open &&
    html`<div class="tool-body">
      ${tool.purpose && html`<${PlainText} text=${tool.purpose} limit=${2000} />`}
      <p class="small soft">
        ${tool.usable ? "The model may use it." : "No model is told of it."}${" "}
        ${tool.handled ? `The agent handles it. ${EFFECTS[tool.effect]?.told ?? ""}` : "The agent does not handle it: another one does."}
        ${tool.timeout !== null && ` A call may take ${duration(tool.timeout)}.`}
      </p>
      <${Parameters} schema=${tool.parameters} />
    </div>`}
  </details>`;
}

// An agent with its model, its queues and its tools, each of which unfolds to its schema.
export function Agent({ agent }) {
  const card = useRef(null);
  useEffect(() => {
    const show = ({ detail }) => {
      if (detail !== agent.key) return;
      card.current.scrollIntoView({ block: "nearest" });
      card.current.focus({ preventScroll: true });
    };
    wanted.addEventListener("agent", show);
    return () => wanted.removeEventListener("agent", show);
  }, [agent.key]);
  return html`<article class="card agent" ref=${card} tabindex="-1" aria-label="Agent ${agent.name}">
    <header>
      <h3><${PlainText} inline text=${agent.name} limit=${80} /></h3>
      <p class="pills">
        <span class="tag">${agent.model ? `model ${agent.model}` : "no model"}</span>
        ${agent.llm_queue && html`<span class="tag" title="Where the asks for its model wait">queue ${agent.llm_queue}</span>`}
        <span class="tag" title="Where the asks for its tools wait">queue ${agent.agent_queue}</span>
      </p>
    </header>
    ${agent.key !== agent.name && html`<p class="faint small mono">${agent.key}</p>`}
    ${agent.tools.length ? agent.tools.map((tool) => html`<${Tool} key=${tool.name} tool=${tool} />`) : html`<p class="soft">It has no tools.</p>`}
  </article>`;
}
