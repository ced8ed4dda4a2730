import { api } from "../../lib/api.js";
import { useData } from "../../lib/hooks.js";
import { html } from "../../lib/preact.js";
import { link } from "../../lib/router.js";
import { Icon, PlainText, Time } from "../../parts/index.js";
import { forget } from "./remembered.js";

// The newest run of each session says what it was about.
async function newest(sessions, signal) {
  const found = await Promise.allSettled(sessions.map(({ session }) => api.get("v1/runs", { session, limit: 1 }, { signal })));
  return new Map(found.map((one, index) => [sessions[index].session, one.value?.items[0] ?? null]));
}

// The sessions of this tab, the one used last first.
export function Sessions({ owner, sessions, current, onForget }) {
  const { data } = useData(({ signal }) => newest(sessions, signal), [sessions.map((one) => one.session).join()]);
  if (!sessions.length) return null;
  return html`<nav class="chat-sessions" aria-label="Sessions of this tab">
    <h2>Sessions of this tab</h2>
    <ul>
      ${sessions.map(({ task, session }) => {
        const run = data?.get(session);
        return html`<li key=${session} class=${session === current ? "current" : ""}>
          <a href=${link("chat", [task], { session })} aria-current=${session === current ? "true" : undefined}>
            <span class="session-text"><${PlainText} text=${(run?.message?.content || session).slice(0, 120)} limit=${120} inline /></span>
            <span class="session-about faint"><${PlainText} text=${task} limit=${60} inline />${run && html` · <${Time} iso=${run.created_at} relative />`}</span>
          </a>
          <button type="button" class="icon-button" aria-label="Take ${session} off this list" title="Take it off this list; the session stays" onClick=${() => (forget(owner, session), onForget(session))}><${Icon} name="close" size=${12} /></button>
        </li>`;
      })}
    </ul>
  </nav>`;
}
