import { runPath } from "../../../lib/live.js";
import { html, useState } from "../../../lib/preact.js";
import { toast, useAction } from "../../../parts/index.js";
import { ActionDialog } from "./action_dialog.js";
import { LimitFields, limitsOf } from "./limit_fields.js";

export function Retry({ run, onChanged, onClose }) {
  const [typed, setTyped] = useState({});
  const { busy, problem, send } = useAction();
  const retry = async () => {
    const now = await send("post", runPath(run.id, "/retry"), { limits: limitsOf(typed) });
    if (!now) return;
    toast("The run continues.", "good");
    onChanged(now);
    onClose();
  };
  return html`<${ActionDialog} title="Retry this run?" action="Retry" doing="Retrying…" busy=${busy} problem=${problem} onSend=${retry} onClose=${onClose}>
    <p>It continues where it failed: what was done is kept, and not paid again. A deadline begins anew; what is left empty stays as it is.</p>
    <${LimitFields} names=${["max_cost", "max_tokens", "deadline"]} typed=${typed} problem=${problem} onType=${setTyped} />
  <//>`;
}
