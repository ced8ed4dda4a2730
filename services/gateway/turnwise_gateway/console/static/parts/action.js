import { api, newIdempotencyKey } from "../lib/api.js";
import { mayPass } from "../lib/attempts.js";
import { writeJson } from "../lib/json.js";
import { useEffect, useRef, useState } from "../lib/preact.js";
import { toast } from "./toast.js";

const NOTHING = { what: null, key: null };

// Sends an action: `{busy, problem, send(method, path, body), isShown()}`. `send` returns the answer, or null after a
// problem, which is shown where the action is; what was typed stays. It is a toast once the person has left the action, and
// `inToast` where it has no place of its own. The same body sent again after a lost answer is done once: it keeps its key
// until the server has answered it.
export function useAction({ inToast = false } = {}) {
  const [state, setState] = useState({ busy: false, problem: null });
  const sent = useRef(NOTHING);
  const alive = useRef(true);
  useEffect(() => () => void (alive.current = false), []);
  const send = async (method, path, body) => {
    const what = writeJson([method, path, body]);
    if (sent.current.what !== what) sent.current = { what, key: newIdempotencyKey() };
    setState({ busy: true, problem: null });
    try {
      const answer = await api[method](path, body, { idempotencyKey: sent.current.key });
      sent.current = NOTHING;
      if (alive.current) setState({ busy: false, problem: null });
      return answer;
    } catch (problem) {
      if (problem.status && !mayPass(problem)) sent.current = NOTHING;
      if (alive.current) setState({ busy: false, problem });
      if (inToast || !alive.current) toast(`Not done: ${problem.detail ?? problem.message}`, "bad");
      return null;
    }
  };
  return { ...state, send, isShown: () => alive.current };
}
