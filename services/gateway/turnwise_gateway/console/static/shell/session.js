// Who is signed in. The cookie itself is the browser's alone: no script can read it.
import { api, fetched, onSignedOut, Problem } from "../lib/api.js";
import { begunHere } from "../lib/begun.js";
import { useCallback, useEffect, useLayoutEffect, useState } from "../lib/preact.js";
import { keep } from "../lib/settings.js";

// Of the last visit: so the next one need not find out first whether someone is signed in.
const KNOWN = "known";
// While no one knows who asks, because the server does not say.
const AGAIN_MS = 3000;
// The pages and the first list are drawn at once if the list comes that soon: drawn one after the other, they take longer.
const TOGETHER_MS = 50;
const UNKNOWN = { caller: null, problem: null, before: null };

// `caller` is null until it is known who asks. Then `problem` says why not: 401 for want of a sign-in. `before` is who was
// signed in on this page until then.
export function useSession() {
  const [state, setState] = useState(UNKNOWN);

  const look = useCallback(async () => {
    try {
      const caller = await api.get("v1/sign-in");
      await begunHere(TOGETHER_MS);
      setState({ ...UNKNOWN, caller });
    } catch (problem) {
      // While the server is away, pages say so themselves.
      setState((old) => (old.caller || problem.status === 401 ? old : { ...old, problem }));
    }
  }, []);

  // Before the first paint, which effects would wait for.
  useLayoutEffect(() => {
    void look();
    return onSignedOut((problem) => setState((old) => ({ caller: null, problem, before: old.caller ?? old.before })));
  }, []);
  useEffect(() => {
    if (state.caller || state.problem?.status === 401) keep(KNOWN, state.caller ? "yes" : null);
  }, [state]);
  useEffect(() => {
    if (state.caller || !state.problem || state.problem.status === 401) return undefined;
    const timer = setTimeout(look, AGAIN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  useEffect(() => {
    // Meanwhile another tab may have signed in as someone else.
    const returned = () => document.visibilityState === "visible" && void look();
    document.addEventListener("visibilitychange", returned);
    return () => document.removeEventListener("visibilitychange", returned);
  }, []);

  const signIn = useCallback(async (token) => {
    await fetched("PUT", "v1/sign-in", { headers: { Authorization: `Bearer ${token}` } });
    try {
      setState({ ...UNKNOWN, caller: await api.get("v1/sign-in") });
    } catch (problem) {
      if (problem.status !== 401) throw problem;
      throw new Problem({
        code: "no_cookie",
        title: "This browser did not keep the sign-in",
        detail: "The key is right, but the browser keeps no cookies for this address. Allow them, and sign in again.",
      });
    }
  }, []);

  const signOut = useCallback(async () => {
    await api.delete("v1/sign-in");
    setState({ ...UNKNOWN, problem: new Problem({ status: 401, code: "signed_out", title: "Signed out" }) });
  }, []);

  return { ...state, look, signIn, signOut };
}
