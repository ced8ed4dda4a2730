// In place of all pages while no one is signed in. The address stays as it is, so that one returns to where one was.
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { useTitle } from "../lib/title.js";
import { Failure } from "../parts/states.js";
import { Brand } from "./brand.js";

// What a header can carry; anything else was not copied from a key.
const CARRIED = /^[\x20-\x7e]+$/;
const NOT_A_KEY = { title: "This is not a key", detail: "It holds a character that no key or token has. Copy it once more." };

// Keys and tokens are told apart by their form, as the server does it.
function refused(token, problem) {
  if (problem.status !== 401) return problem;
  if (token.startsWith("tw_")) {
    return { title: "This key is not accepted", detail: "It is mistyped, revoked or expired. Ask whoever administers this server for another one." };
  }
  if (token.split(".").length === 3) return { title: "This token is not accepted", detail: problem.detail };
  return { title: "This is neither a key nor the server's token", detail: problem.detail };
}

function Ended({ session }) {
  const { before, problem } = session;
  if (problem.code === "signed_out") return html`<p class="sign-in-note" role="status">You are signed out.</p>`;
  if (!before) return null;
  return html`<div class="sign-in-note" role="status">
    <strong>Your sign-in has ended.</strong>
    <p>The key or token of ${before.name} was revoked or replaced, or has expired. Sign in to return to where you were.</p>
  </div>`;
}

export function SignIn({ session }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const [seen, setSeen] = useState(false);
  const field = useRef(null);
  useTitle("Sign in");
  useEffect(() => field.current.focus(), []);

  const submit = async (event) => {
    event.preventDefault();
    const given = token.trim().replace(/^Bearer\s+/i, "");
    if (!CARRIED.test(given)) {
      setProblem(given ? NOT_A_KEY : { title: "Nothing was entered", detail: "Paste a key or a token." });
      return;
    }
    setBusy(true);
    setProblem(null);
    try {
      await session.signIn(given);
    } catch (error) {
      setProblem(refused(given, error));
      setBusy(false);
      field.current?.select();
    }
  };

  return html`<main class="signed-out" id="main">
    <form class="sign-in card" onSubmit=${submit} aria-labelledby="sign-in-title">
      <${Brand} />
      <h1 id="sign-in-title">Sign in</h1>
      <${Ended} session=${session} />
      <div class="field">
        <label for="sign-in-key">API key or token</label>
        <input type="text" name="username" autocomplete="username" value="turnwise" hidden readonly />
        <div class="sign-in-key">
          <input id="sign-in-key" ref=${field} name="password" type=${seen ? "text" : "password"} autocomplete="current-password" autocapitalize="none" spellcheck=${false}
            required aria-describedby="sign-in-hint" value=${token} onInput=${(event) => setToken(event.target.value)} />
          <button type="button" aria-pressed=${seen ? "true" : "false"} onClick=${() => setSeen(!seen)}>${seen ? "Hide" : "Show"}</button>
        </div>
        <p class="field-hint" id="sign-in-hint">A key begins with <code>tw_</code>. The token of your identity provider (OpenID Connect) and the server's own token are taken as well.</p>
      </div>
      ${problem && html`<${Failure} problem=${{ ...problem, title: problem.title, detail: problem.detail, code: undefined }} compact />`}
      <button type="submit" class="primary" disabled=${busy}>${busy ? "Signing in…" : "Sign in"}</button>
      <p class="field-hint">The browser keeps it in a cookie that no script can read, until you sign out or close the browser.</p>
    </form>
  </main>`;
}
