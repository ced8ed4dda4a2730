import { api } from "../../lib/api.js";
import { untilAnswered } from "../../lib/attempts.js";
import { poll, runPath, watchRun } from "../../lib/live.js";
import { useCallback, useEffect, useRef, useState } from "../../lib/preact.js";
import { Conversation } from "./conversation.js";
import { eventsSoFar } from "./event_reader.js";

const ENDED = new Set(["completed", "failed", "cancelled"]);
// Events may come by the hundred; the run's own state is asked for at most this often.
const AGAIN_MS = 2000;
// What a run waits for changes without an event: workers come and go.
const LOOK_SECONDS = 10;

export function isEnded(run) {
  return ENDED.has(run.status);
}

// Answers may come in another order than they were given in: the later state of the run stays.
function newer(before, found) {
  return before && before.id === found.id && before.last_event > found.last_event ? before : found;
}

// A run as it is now, and its conversation so far.
async function read(runId, signal) {
  const [run, transcript] = await Promise.all([api.get(runPath(runId), {}, { signal }), api.get(runPath(runId, "/transcript"), { rejected: true }, { signal })]);
  const conversation = Conversation.of(transcript);
  if (isEnded(run)) return { run, conversation };
  for await (const events of eventsSoFar(runId, { after: conversation.lastSaid, last: conversation.seq, signal })) conversation.recall(events);
  return { run, conversation };
}

// A run as it is now, and its conversation, followed while the page is shown: `{run, picture, error, stream, problem,
// reload, changed}`. `stream` is `connecting`, `live`, `lost` or `ended`; `changed(run)` takes the answer of an action.
export function useRun(runId) {
  const [run, setRun] = useState(null);
  const [picture, setPicture] = useState(null);
  const [error, setError] = useState(null);
  const [stream, setStream] = useState({ state: "connecting", problem: null });
  const [life, setLife] = useState(0);
  const latest = useRef(null);
  latest.current = run;

  const path = runPath(runId);
  const asked = useRef({ timer: null, at: 0 });
  const refresh = useCallback(async () => {
    try {
      const found = await api.get(path);
      setRun((before) => newer(before, found));
    } catch (failed) {
      if (!latest.current) setError(failed);
    }
  }, [path]);

  useEffect(() => {
    let stale = false;
    let watch = null;
    let frame = 0;
    let conversation = null;
    const aborting = new AbortController();
    const { signal } = aborting;

    const draw = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        if (!stale) setPicture(conversation.picture());
      });
    };
    const soon = () => {
      const due = Math.max(0, asked.current.at + AGAIN_MS - Date.now());
      asked.current.timer ??= setTimeout(() => {
        asked.current = { timer: null, at: Date.now() };
        if (!stale) refresh();
      }, due);
    };
    const onEvent = ({ data }) => {
      const wanted = conversation.take(data);
      if (wanted === "transcript") setLife((number) => number + 1);
      if (wanted) soon();
      draw();
    };
    const onState = (state, problem = null) => {
      setStream({ state, problem });
      if (state !== "ended") return;
      setPicture(conversation.picture());
      // The last event came before the run's row could be asked for.
      refresh();
    };

    async function begin() {
      setStream({ state: "connecting", problem: null });
      try {
        const found = await untilAnswered(() => read(runId, signal), { signal, onProblem: setError });
        if (stale) return;
        conversation = found.conversation;
        setError(null);
        setRun((before) => newer(before, found.run));
        setPicture(conversation.picture());
        watch = watchRun(runId, { after: conversation.seq, onEvent, onState });
      } catch (failed) {
        if (!stale) setError(failed);
      }
    }
    begin();
    return () => {
      stale = true;
      aborting.abort();
      watch?.close();
      cancelAnimationFrame(frame);
      clearTimeout(asked.current.timer);
      asked.current.timer = null;
    };
  }, [runId, life]);

  // Anyone may retry a failed run.
  const mayChange = run !== null && (!isEnded(run) || run.status === "failed");
  useEffect(() => (mayChange ? poll(refresh, LOOK_SECONDS) : undefined), [mayChange, refresh]);

  const reload = useCallback(() => setLife((number) => number + 1), []);
  // A run that was retried has events after those of the stream that ended.
  const isBehind = stream.state === "ended" && !stream.problem && run !== null && picture !== null && run.last_event > picture.seq;
  useEffect(() => {
    if (isBehind) reload();
  }, [isBehind, reload]);

  const changed = useCallback((now) => setRun((before) => newer(before, { ...before, ...now })), []);
  return { run, picture, error, stream: stream.state, problem: stream.problem, reload, refresh, changed };
}
