import { api, newIdempotencyKey } from "../../../lib/api.js";
import { writeJson } from "../../../lib/json.js";
import { useEffect, useRef, useState } from "../../../lib/preact.js";

// Sends an action: `{busy, problem, send(method, path, body)}`. `send` returns the answer, or null after a problem, which
// is shown where the action is; what was typed stays. The same body sent again after a lost answer is done once.
export function useAction() {
  const [state, setState] = useState({ busy: false, problem: null });
  const sent = useRef({ what: null, key: null });
  const alive = useRef(true);
  useEffect(() => () => void (alive.current = false), []);
  const send = async (method, path, body) => {
    const what = writeJson([method, path, body]);
    if (sent.current.what !== what) sent.current = { what, key: newIdempotencyKey() };
    setState({ busy: true, problem: null });
    try {
      const answer = await api[method](path, body, { idempotencyKey: sent.current.key });
      sent.current = { what: null, key: null };
      if (alive.current) setState({ busy: false, problem: null });
      return answer;
    } catch (problem) {
      if (alive.current) setState({ busy: false, problem });
      return null;
    }
  };
  return { ...state, send };
}

export const runPath = (id, below = "") => `v1/runs/${encodeURIComponent(id)}${below}`;
