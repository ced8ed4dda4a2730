import { runPath } from "../../../lib/live.js";
import { html } from "../../../lib/preact.js";
import { toast, useAction } from "../../../parts/index.js";
import { ActionDialog } from "./action_dialog.js";

export function Cancel({ run, onChanged, onClose }) {
  const { busy, problem, send } = useAction();
  const cancel = async () => {
    const now = await send("post", runPath(run.id, "/cancel"));
    if (!now) return;
    toast("The run will be cancelled.", "good");
    onChanged(now);
    onClose();
  };
  return html`<${ActionDialog} title="Cancel this run?" action="Cancel the run" doing="Cancelling…" danger busy=${busy} problem=${problem} onSend=${cancel} onClose=${onClose}>
    <p>It ends with its sub-tasks. Its messages stay; an answer in progress is discarded. A cancelled run cannot be retried, but forked.</p>
  <//>`;
}
