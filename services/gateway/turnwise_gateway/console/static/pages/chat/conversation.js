import { api, newIdempotencyKey } from "../../lib/api.js";
import { useUnsent } from "../../lib/drafts.js";
import { useKeys } from "../../lib/keys.js";
import { runPath } from "../../lib/live.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../../lib/preact.js";
import { setQuery } from "../../lib/router.js";
import { Failure, Loading, PlainText, toast } from "../../parts/index.js";
import { isEnded } from "../run/use_run.js";
import { Composer } from "./composer.js";
import { Exchange } from "./exchange.js";
import { newSession } from "./remembered.js";
import { useSession } from "./use_session.js";

const NEAR_END = 80;

// Keeps the end of the conversation in sight while it grows, unless the person reads what is above.
function useFollow(frame) {
  const atEnd = useRef(true);
  useEffect(() => {
    const element = frame.current;
    const look = () => {
      atEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - NEAR_END;
    };
    const stay = () => {
      if (atEnd.current) element.scrollTop = element.scrollHeight;
    };
    const grown = new ResizeObserver(stay);
    grown.observe(element);
    grown.observe(element.firstElementChild);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      grown.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  return () => {
    atEnd.current = true;
  };
}

// A conversation with a task, in the session of the address or in one that the first message begins.
export function Conversation({ task, session, onBegun }) {
  const { draft, keep, drop } = useUnsent(`chat ${task.name} ${session ?? ""}`);
  const own = useRef(session ?? draft.session ?? null);
  const { runs, error, loading, earlier, reload, put } = useSession(own.current);
  const [text, setText] = useState(draft.text ?? "");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const [focused, setFocused] = useState(0); // a person asked for the field
  const [sent, setSent] = useState(0);
  const frame = useRef(null);
  const last = useRef(draft.last ?? {});
  const writtenFor = useRef(draft.question ?? null); // the question that was open when the text was last changed, or null
  const toEnd = useFollow(frame);
  const isShown = useRef(true);
  useEffect(() => () => void (isShown.current = false), []);

  const current = runs.at(-1) ?? null;
  const open = runs.find((run) => !isEnded(run)) ?? null;
  const question = open?.waiting_for?.kind === "human" ? open.waiting_for : null;
  const asked = question?.question ?? null;
  const write = (value) => {
    drop();
    setText(value);
    writtenFor.current = asked;
  };

  // The field is free for what comes next while this is sent; what cannot be sent comes back, before it, or when the
  // conversation is opened again.
  const attempt = async (said, action) => {
    const question = writtenFor.current;
    const comeBack = () => {
      if (!isShown.current) return void keep({ text: said, question, session: own.current, last: last.current });
      setText((next) => (next.trim() ? `${said}\n${next}` : said));
      writtenFor.current = question;
    };
    drop();
    setBusy(true);
    setProblem(null);
    setText("");
    try {
      await action(comeBack);
    } catch (failed) {
      setProblem(failed);
      comeBack();
      if (!isShown.current) toast(`Not sent: ${failed.detail ?? failed.message} It is kept as a draft in the chat.`, "bad");
    }
    setBusy(false);
    setSent((number) => number + 1);
  };
  // The same message sent again after a lost answer is one run.
  const keyFor = (said) => {
    if (last.current.said !== said) last.current = { said, key: newIdempotencyKey() };
    return last.current.key;
  };

  const begin = (message) =>
    attempt(message, async () => {
      own.current ??= newSession();
      const body = { task: task.name, message, session_id: own.current };
      const run = await api.post("v1/runs", body, { idempotencyKey: keyFor(JSON.stringify(body)), params: { watch: true } });
      last.current = {};
      put(run);
      // First the page has to know that this session is the conversation which it shows, if it still does.
      onBegun(own.current, isShown.current);
      if (isShown.current) setQuery({ session: own.current });
    });
  const answer = (said) =>
    attempt(said, async (comeBack) => {
      const body = { text: said, question: question.question };
      try {
        put(await api.post(runPath(open.id, "/messages"), body, { idempotencyKey: keyFor(JSON.stringify(body)) }));
      } catch (failed) {
        if (failed.status !== 409) throw failed;
        toast(`Too late: ${failed.detail}`, "warning");
        comeBack();
        put(await api.get(runPath(open.id)));
      }
      last.current = {};
    });
  const send = (said) => {
    // An answer does not become a message, nor a message an answer, because a question came or went while it was written.
    if (writtenFor.current !== asked) {
      writtenFor.current = asked;
      toast(asked === null ? "Not sent: the question is answered. Send it again as a new message." : "Not sent: there is a new question. Send it again as its answer.", "warning");
      return undefined;
    }
    toEnd();
    return question ? answer(said) : begin(said);
  };
  const stop = async () => {
    try {
      put(await api.post(runPath(open.id, "/cancel")));
      toast("Stopping…");
    } catch (failed) {
      if (failed.code === "already_ended") put(await api.get(runPath(open.id)));
      else setProblem(failed);
    }
  };
  const retry = (run) => async () => {
    try {
      put(await api.post(runPath(run.id, "/retry"), {}));
    } catch (failed) {
      toast(failed.detail, "bad");
    }
  };
  const again = (run) => () => {
    write(run.message.content ?? "");
    setFocused((number) => number + 1);
  };
  useKeys(
    [
      { keys: ["Enter"], does: "Write", run: () => setFocused((number) => number + 1) },
      ...(open ? [{ keys: ["s"], does: "Stop", run: stop }] : []),
    ],
    [open?.id],
  );
  // A session that is opened shows its end.
  useLayoutEffect(() => {
    frame.current.scrollTop = frame.current.scrollHeight;
  }, [current?.id]);

  return html`<section class="chat-main" aria-label="Conversation with ${task.name}">
    <div class="chat-log" ref=${frame} tabindex="0" role="log" aria-label="Messages" aria-live="polite">
      <ol class="exchanges">
        ${earlier && html`<li><button type="button" onClick=${earlier} disabled=${loading}>Earlier messages</button></li>`}
        ${error && html`<li><${Failure} problem=${error} retry=${reload} compact /></li>`}
        ${loading && !runs.length && html`<li><${Loading} /></li>`}
        ${!loading && !error && !runs.length && html`<li class="chat-empty soft"><h2>Talk with <${PlainText} text=${task.name} limit=${100} inline /></h2><p>${task.keeps_conversation ? "It remembers what was said in the session." : "It does not remember: each message begins a run that knows nothing of the one before."}</p></li>`}
        ${runs.map((run) => html`<${Exchange} key=${run.id} run=${run} onChange=${put} onAgain=${again(run)} onRetry=${retry(run)} />`)}
      </ol>
    </div>
    <${Composer} text=${text} onText=${write} onSend=${send} onStop=${stop} asker=${question ? question.task.split("/").at(-1) : null} running=${open !== null} busy=${busy}
      problem=${problem} onRetry=${text.trim() ? () => send(text) : undefined} focused=${focused} sent=${sent} />
  </section>`;
}
