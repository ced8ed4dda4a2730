import { count } from "../../lib/format.js";
import { writeJson } from "../../lib/json.js";
import { html, useMemo, useState } from "../../lib/preact.js";
import { Icon, Json, Money, PlainText, Time, Tokens } from "../../parts/index.js";
import { partsOf, speakerOf } from "./document.js";

// A text is cut here in the list; "show all" has the rest.
const SHOWN = 4000;
const FOLDED_BEYOND = 600;

// Folded until it is opened; nothing of the content is made before.
function Fold({ summary, open = false, class: own = "", children }) {
  const [isOpen, setOpen] = useState(open);
  return html`<details class="fold ${own}" open=${isOpen} onToggle=${(event) => event.target === event.currentTarget && setOpen(event.currentTarget.open)}>
    <summary>${summary}</summary>
    ${isOpen && html`<div class="fold-body">${children()}</div>`}
  </details>`;
}

function size(value) {
  return writeJson(value ?? null).length;
}

function Tool({ tool }) {
  const fields = tool.fields;
  const short = fields === null || size(fields) <= FOLDED_BEYOND;
  const summary = html`<${Icon} name="tool" size="14" /><span class="fold-name"><${PlainText} inline text=${tool.name} limit=${100} /></span>
    <span class="faint small">${fields === null ? "arguments that are not JSON" : `${Object.keys(fields).length} ${Object.keys(fields).length === 1 ? "argument" : "arguments"}`}</span>`;
  return html`<${Fold} class="tool-call" open=${short} summary=${summary}>
    ${() => (fields === null ? html`<${PlainText} text=${tool.raw} limit=${SHOWN} />` : html`<div class="bare-json"><${Json} value=${fields} open=${2} /></div>`)}
  <//>`;
}

function Result({ result, of }) {
  const title = of ? `Result of ${of}` : "Result";
  return html`<${Fold} class="result" open=${result.text.length <= FOLDED_BEYOND} summary=${html`<${Icon} name="right" size="14" /><span class="fold-name">${title}</span><span class="faint small">${count(result.text.length)} characters</span>`}>
    ${() => html`<${PlainText} text=${result.text} limit=${SHOWN} />`}
  <//>`;
}

function Value({ value, text }) {
  const [raw, setRaw] = useState(false);
  return html`<div class="message-value">
    ${raw ? html`<${PlainText} text=${text} limit=${SHOWN} />` : html`<${Json} value=${value} open=${2} />`}
    <button type="button" class="link small" onClick=${() => setRaw(!raw)}>${raw ? "As a tree" : "As text"}</button>
  </div>`;
}

function Use({ usage, model }) {
  if (!usage || !usage.calls) return model ? html`<span class="message-model"><${PlainText} inline text=${model} limit=${60} /></span>` : null;
  const total = (usage.prompt_tokens ?? 0) + (usage.completion_tokens ?? 0);
  const detail = `${usage.prompt_tokens ?? 0} tokens in${usage.cached_tokens ? `, ${usage.cached_tokens} of them cached` : ""}; ${usage.completion_tokens ?? 0} out`;
  return html`${model && html`<span class="message-model"><${PlainText} inline text=${model} limit=${60} /></span>`}
    <span title=${detail}><${Tokens} value=${total} /> tokens</span><${Money} value=${usage.cost ?? null} />`;
}

const BADGES = { rejected: ["bad", "not taken"], passed: ["quiet", "passed on"] };

function Marks({ entry, parts }) {
  const kind = entry.kind === "rejected" ? "rejected" : entry.passed ? "passed" : null;
  return html`${kind && html`<span class="badge ${BADGES[kind][0]}">${BADGES[kind][1]}</span>`}
    ${parts.isCached && html`<span class="badge quiet">from a cache</span>`}
    ${parts.files > 0 && html`<span class="badge quiet">${parts.files} ${parts.files === 1 ? "file" : "files"}</span>`}`;
}

// A message of the conversation. `actions` stand at its end; `marked` is for one that differs from another run's.
export function Message({ entry, active = false, actions = null, marked = false }) {
  const parts = useMemo(() => partsOf(entry.document), [entry.document]);
  const speaker = speakerOf(entry, parts);
  const calls = new Map(parts.tools.map((tool) => [tool.id, tool.name]));
  // The caller's own message, just above, has its reasoning.
  const reasoning = entry.responder === null ? "" : parts.reasoning;
  const isEmpty = !parts.text && !parts.tools.length && !parts.results.length && !reasoning;
  return html`<article class="message by-${speaker.kind} ${entry.kind === "rejected" ? "rejected" : ""} ${active ? "marked" : ""} ${marked ? "differs" : ""}" aria-label="Message ${entry.event}, ${speaker.name}">
    <header class="message-head">
      <span class="message-sender"><${PlainText} inline text=${speaker.name} limit=${80} /></span>
      <span class="message-role">${speaker.role}</span>
      ${parts.recipient && html`<span class="message-to"><span aria-hidden="true">→</span><span class="visually-hidden">to</span> <${PlainText} inline text=${parts.recipient} limit=${80} /></span>`}
      <${Marks} entry=${entry} parts=${parts} />
      <span class="message-facts">
        <${Use} usage=${entry.responder === null ? null : parts.usage} model=${entry.model} />
        <${Time} iso=${entry.at} />
        <span class="message-no" title="Event ${entry.event}, turn ${entry.turn}">#${entry.event}</span>
        ${actions}
      </span>
    </header>
    ${reasoning && html`<${Fold} class="reasoning" summary=${html`<${Icon} name="right" size="14" /><span class="fold-name">Reasoning</span>`}>${() => html`<${PlainText} text=${reasoning} limit=${SHOWN} />`}<//>`}
    ${parts.value !== undefined ? html`<${Value} value=${parts.value} text=${parts.text} />` : parts.text && html`<div class="message-text"><${PlainText} text=${parts.text} limit=${SHOWN} /></div>`}
    ${parts.tools.map((tool, index) => html`<${Tool} key=${index} tool=${tool} />`)}
    ${parts.results.map((result) => html`<${Result} key=${result.id} result=${result} of=${calls.get(result.id)} />`)}
    ${isEmpty && html`<p class="absent">An empty message</p>`}
  </article>`;
}

// An answer that is being written.
export function LiveMessage({ live, asked, node }) {
  return html`<article class="message by-llm in-progress" aria-label="An answer in progress">
    <header class="message-head">
      <span class="message-sender">${node?.name ?? asked?.task ?? ""}</span>
      <span class="message-role">model</span>
      <span class="badge active"><span class="badge-sign" aria-hidden="true" />writing</span>
      <span class="message-facts">${live.attempt > 1 && html`<span>attempt ${live.attempt}</span>`}<span class="number">${count(live.length)} characters</span></span>
    </header>
    <div class="message-text"><${PlainText} text=${live.text} limit=${200_000} /></div>
  </article>`;
}
