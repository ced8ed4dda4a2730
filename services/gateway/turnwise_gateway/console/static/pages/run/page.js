import { useMayWrite } from "../../lib/caller.js";
import { html, useState } from "../../lib/preact.js";
import { go, link, setQuery } from "../../lib/router.js";
import { Failure, Icon, Loading, Page, PlainText, StatusBadge, Tabs } from "../../parts/index.js";
import { Cancel } from "./actions/cancel.js";
import { ChangeLimits } from "./actions/change_limits.js";
import { Fork } from "./actions/fork.js";
import { Retry } from "./actions/retry.js";
import { Events } from "./events.js";
import { ExportMenu } from "./export_menu.js";
import { Ending, Facts, Identity, Waiting } from "./header.js";
import { Result } from "./result.js";
import { Timeline } from "./timeline.js";
import { Transcript } from "./transcript.js";
import { Tree } from "./tree.js";
import { Usage } from "./usage.js";
import { isEnded, useRun } from "./use_run.js";

function Actions({ run, mayWrite, onAction }) {
  const over = isEnded(run);
  return html`
    ${mayWrite && !over && html`<button type="button" onClick=${() => onAction("limits")}>Limits</button>`}
    ${mayWrite && !over && html`<button type="button" disabled=${run.cancel_requested_at !== null} onClick=${() => onAction("cancel")}><${Icon} name="cancel" />${run.cancel_requested_at ? "Cancelling…" : "Cancel"}</button>`}
    ${mayWrite && run.status === "failed" && html`<button type="button" onClick=${() => onAction("retry")}><${Icon} name="retry" />Retry</button>`}
    <button type="button" onClick=${() => onAction("compare")}>Compare</button>
    <${ExportMenu} runId=${run.id} />
  `;
}

function Dialogs({ action, run, picture, onChanged, onClose }) {
  if (action === null) return null;
  const common = { run, onChanged, onClose };
  if (action.name === "cancel") return html`<${Cancel} ...${common} />`;
  if (action.name === "limits") return html`<${ChangeLimits} ...${common} />`;
  if (action.name === "retry") return html`<${Retry} ...${common} />`;
  const entry = action.entry ?? picture.entries.findLast((one) => one.kind === "message");
  return entry ? html`<${Fork} ...${common} entry=${entry} prefer=${action.entry ? "edit" : "after"} />` : null;
}

// The page of a run. Who may not change runs sees no action.
export function RunPage({ runId, query }) {
  const { run, picture, error, stream, problem, reload, changed } = useRun(runId);
  const [action, setAction] = useState(null);
  const mayWrite = useMayWrite();
  if (error && !(run && picture)) {
    return html`<${Page} title="Run">
      <${Failure} problem=${error} retry=${error.status === 404 ? undefined : reload} />
      <p><a href=${link("runs")}>All runs</a></p>
    <//>`;
  }
  if (!run || !picture) return html`<${Page} title="Run"><${Loading} text="Reading the run…" /><//>`;

  const onAction = (name, entry = null) => {
    if (name === "compare") go("runs", [run.id, "compare", ...(run.forked_from ? [run.forked_from.run] : [])]);
    else setAction({ name, entry });
  };
  const selected = picture.nodes.find((node) => String(node.event) === query.get("task")) ?? null;
  const onFork = mayWrite ? (entry) => onAction("fork", entry) : null;
  const tabs = [
    {
      id: "transcript",
      title: "Transcript",
      render: () => html`<${Transcript} picture=${picture} node=${selected} rejected=${query.has("rejected")} isOver=${isEnded(run)} isHeld=${run.status === "waiting"} onFork=${onFork} stream=${stream} problem=${problem} />`,
    },
    { id: "timeline", title: "Timeline", render: () => html`<${Timeline} run=${run} picture=${picture} />` },
    { id: "usage", title: "Usage", render: () => html`<${Usage} run=${run} picture=${picture} />` },
    { id: "events", title: "Events", render: () => html`<${Events} run=${run} seq=${picture.seq} />` },
    { id: "result", title: "Result", render: () => html`<${Result} run=${run} />` },
  ];
  const title = html`<span class="run-title"><a class="run-back" href=${link("runs")} aria-label="All runs"><${Icon} name="left" /></a><${PlainText} inline text=${run.task} limit=${120} /></span>`;
  return html`<${Page} title=${title} tab=${`${run.task} · run`} fill note=${html`<${StatusBadge} status=${run.status} code=${run.status_code} />`} actions=${html`<${Actions} run=${run} mayWrite=${mayWrite} onAction=${onAction} />`}>
    <div class="run">
      <div class="run-head">
        ${error && html`<${Failure} problem=${error} retry=${reload} compact />`}
        <${Identity} run=${run} />
        <${Facts} run=${run} picture=${picture} />
        <${Waiting} run=${run} mayWrite=${mayWrite} picture=${picture} onAction=${onAction} onChanged=${changed} />
        <${Ending} run=${run} mayWrite=${mayWrite} onAction=${onAction} />
      </div>
      <div class="run-body ${picture.nodes.length > 1 ? "" : "single"}">
        ${picture.nodes.length > 1 && html`<${Tree} nodes=${picture.nodes} selected=${selected} ended=${isEnded(run)} onSelect=${(node) => setQuery({ task: node?.event ?? null, tab: null })} />`}
        <div class="run-tabs"><${Tabs} label="The run" tabs=${tabs} selected=${query.get("tab") ?? "transcript"} onSelect=${(id) => setQuery({ tab: id === "transcript" ? null : id })} /></div>
      </div>
    </div>
    <${Dialogs} action=${action} run=${run} picture=${picture} onChanged=${changed} onClose=${() => setAction(null)} />
  <//>`;
}
