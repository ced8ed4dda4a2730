import { newIdempotencyKey } from "../../lib/api.js";
import { writeJson } from "../../lib/json.js";
import { useEffect, useRef, useState } from "../../lib/preact.js";
import { toast } from "../../parts/index.js";

// Someone else was quicker, or the run has ended meanwhile.
const TOO_LATE = new Set(["already_answered", "already_resolved", "no_open_question", "already_ended"]);

export function isTooLate(problem) {
  return problem.status === 404 || (problem.status === 409 && TOO_LATE.has(problem.code));
}

// Sending the decision on an item: `{send(body), busy, problem}`. `post(body, key)` sends; the same body sent again after
// a lost answer has the same key, so that it is done once. `onDone(problem)` hears of what was taken (null) or too late.
export function useSending(post, onDone) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const last = useRef({});
  const isShown = useRef(true);
  useEffect(() => () => (isShown.current = false), []);
  const send = async (body) => {
    if (busy) return;
    const said = writeJson(body);
    if (last.current.said !== said) last.current = { said, key: newIdempotencyKey() };
    setBusy(true);
    setProblem(null);
    try {
      await post(body, last.current.key);
      onDone(null);
    } catch (error) {
      if (isTooLate(error)) onDone(error);
      else {
        setProblem(error);
        setBusy(false);
        // The person is at another item by now, or at another page.
        if (!isShown.current) toast(`Not sent: ${error.detail ?? error.message} It is kept as a draft in the inbox.`, "bad");
      }
    }
  };
  return { send, busy, problem };
}

// Ctrl+Enter, or Cmd+Enter, anywhere in a form sends it; Esc leaves its field.
export function formKeys(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    event.currentTarget.requestSubmit();
  } else if (event.key === "Escape") {
    event.preventDefault();
    event.currentTarget.closest("[data-item]")?.querySelector(".inbox-head")?.focus();
  }
}
