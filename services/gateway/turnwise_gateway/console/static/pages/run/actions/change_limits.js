import { money, tokens } from "../../../lib/format.js";
import { runPath } from "../../../lib/live.js";
import { html, useState } from "../../../lib/preact.js";
import { toast, useAction } from "../../../parts/index.js";
import { ActionDialog } from "./action_dialog.js";
import { LimitFields, limitsOf } from "./limit_fields.js";

// What was typed over the limits that were shown, so that one that somebody else changes meanwhile stays. An emptied field is no limit.
function changed(shown, typed) {
  return Object.fromEntries(
    Object.entries(typed).map(([name, text]) => [name, text.trim()]).filter(([name, text]) => text !== shown[name]).map(([name, text]) => [name, text || "0"]),
  );
}

export function ChangeLimits({ run, onChanged, onClose }) {
  const { limits, usage } = run;
  const [shown] = useState({ max_cost: limits.max_cost ?? "", max_tokens: limits.max_tokens === null ? "" : String(limits.max_tokens) });
  const [typed, setTyped] = useState(shown);
  const { busy, problem, send } = useAction();
  const change = async () => {
    const now = await send("patch", runPath(run.id), { limits: limitsOf(changed(shown, typed)) });
    if (!now) return;
    toast("The limits are changed.", "good");
    onChanged(now);
    onClose();
  };
  const hints = {
    max_cost: `Used so far: ${money(usage.cost)}. Empty or 0 is no limit.`,
    max_tokens: `Used so far: ${tokens(usage.prompt_tokens + usage.completion_tokens)}. Empty or 0 is no limit.`,
  };
  return html`<${ActionDialog} title="Change the limits" action="Change" doing="Changing…" busy=${busy} problem=${problem} onSend=${change} onClose=${onClose}>
    <p class="soft">A run that waits for budget of its own continues at once.</p>
    <${LimitFields} names=${["max_cost", "max_tokens"]} typed=${typed} hints=${hints} problem=${problem} onType=${setTyped} />
  <//>`;
}
