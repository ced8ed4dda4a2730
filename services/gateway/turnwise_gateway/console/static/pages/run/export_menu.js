import { runAddress } from "../../lib/live.js";
import { html, useRef, useState } from "../../lib/preact.js";
import { Failure, Icon } from "../../parts/index.js";
import { saveEvents, saveLog, saveTranscript } from "./export.js";

const FILES = [
  { title: "Log as HTML", hint: "One page, to mail or to keep", save: saveLog },
  { title: "Transcript as JSON", hint: "The messages, nested by task", save: saveTranscript },
  { title: "Events as JSONL", hint: "All that happened, a line each", save: saveEvents },
];

// Files of the run, and its log in a tab of its own.
export function ExportMenu({ runId }) {
  const [state, setState] = useState({ busy: null, problem: null });
  const menu = useRef(null);
  const close = () => {
    menu.current.open = false;
    menu.current.querySelector("summary").focus();
  };
  const save = async (file) => {
    setState({ busy: file.title, problem: null });
    try {
      await file.save(runId);
      setState({ busy: null, problem: null });
      close();
    } catch (problem) {
      setState({ busy: null, problem });
    }
  };
  const left = (event) => {
    if (!menu.current.contains(event.relatedTarget)) menu.current.open = false;
  };
  return html`<details class="menu" ref=${menu} onFocusOut=${left} onKeyDown=${(event) => event.key === "Escape" && menu.current.open && close()}>
    <summary class="button"><${Icon} name="download" />Export</summary>
    <div class="menu-items">
      ${FILES.map(
        (file) => html`<button key=${file.title} type="button" class="menu-item" disabled=${state.busy !== null} onClick=${() => save(file)}>
          <strong>${state.busy === file.title ? "Reading…" : file.title}</strong><span class="soft small">${file.hint}</span>
        </button>`,
      )}
      <a class="menu-item" href=${runAddress(runId, "/log")} target="_blank" rel="noopener"><strong>Open the log</strong><span class="soft small">In a tab of its own</span></a>
      ${state.problem && html`<${Failure} problem=${state.problem} compact />`}
    </div>
  </details>`;
}
