import { money, tokens } from "../../../lib/format.js";
import { html, useState } from "../../../lib/preact.js";
import { toast } from "../../../parts/index.js";
import { ActionDialog } from "./action_dialog.js";
import { LimitFields, limitsOf } from "./limit_fields.js";
import { runPath, useAction } from "./use_action.js";

export function ChangeLimits({ run, onChanged, onClose }) {
  const { limits, usage } = run;
  const [typed, setTyped] = useState({ max_cost: limits.max_cost ?? "", max_tokens: limits.max_tokens === null ? "" : String(limits.max_tokens) });
  const { busy, problem, send } = useAction();
  const change = async () => {
    const now = await send("patch", runPath(run.id), { limits: limitsOf(typed) });
    if (!now) return;
    toast("The limits are changed.", "good");
    onChanged(now);
    onClose();
  };
  const hints = {
    max_cost: `Used so far: ${money(usage.cost)}. 0 is no limit.`,
    max_tokens: `Used so far: ${tokens(usage.prompt_tokens + usage.completion_tokens)}. 0 is no limit.`,
  };
  return html`<${ActionDialog} title="Change the limits" action="Change" doing="Changing…" busy=${busy} problem=${problem} onSend=${change} onClose=${onClose}>
    <p class="soft">A run that waits for budget of its own continues at once.</p>
    <${LimitFields} names=${["max_cost", "max_tokens"]} typed=${typed} hints=${hints} problem=${problem} onType=${setTyped} />
  <//>`;
}
