// Everything that stays up to date: a run's event stream, and questions asked again and again.
import { address, api, fetched } from "./api.js";

const LAST = new Set(["run.completed", "run.failed", "run.cancelled"]);
const ENDED = new Set(["completed", "failed", "cancelled"]);
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
// While nothing happens the server sends a comment every 15 s; a connection that is silent for longer is lost.
const LONGEST_SILENCE = 45_000;

// The server-sent events of a response. `EventSource` would lose the types that it was not told of, and the problem
// that the server answers with.
async function* eventsOf(response, heard) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let event = { type: "message", data: [], id: null };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heard();
    const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (event.data.length) yield { ...event, data: event.data.join("\n") };
        event = { type: "message", data: [], id: null };
        continue;
      }
      const [, field, text = ""] = line.match(/^([^:]*)(?:: ?(.*))?$/s);
      if (field === "event") event.type = text;
      else if (field === "data") event.data.push(text);
      else if (field === "id") event.id = text;
    }
  }
}

// Follow a run: `onEvent({type, seq, data})` gets each event once and in order, `data` being the event as the API has
// it; `llm.delta` has no `seq`. `onState(state, problem)` gets `connecting`, `live`, `lost` and `ended`. A lost
// connection is made again, and continues after the last event.
export function watchRun(runId, { after = 0, onEvent, onState = () => {} }) {
  const path = `v1/runs/${encodeURIComponent(runId)}`;
  let seq = after;
  let wait = FIRST_WAIT;
  let closed = false;
  let timer = null;
  let wake = () => {};
  let aborting = new AbortController();

  const pause = (ms) =>
    new Promise((resolve) => {
      wake = resolve;
      timer = setTimeout(resolve, ms);
    });

  async function read() {
    aborting = new AbortController();
    let silence = null;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => aborting.abort(), LONGEST_SILENCE);
    };
    heard();
    try {
      const response = await fetched("GET", `${path}/events`, {
        params: { text: true, after: seq },
        headers: { Accept: "text/event-stream" },
        signal: aborting.signal,
      });
      onState("live");
      let last = null;
      for await (const event of eventsOf(response, heard)) {
        if (closed) return false;
        wait = FIRST_WAIT;
        if (event.id !== null && event.id !== "") {
          seq = Number(event.id);
          last = event.type;
        }
        const data = JSON.parse(event.data);
        onEvent({ type: event.type, seq: data.seq ?? null, data });
      }
      return LAST.has(last);
    } finally {
      clearTimeout(silence);
    }
  }

  async function isOver() {
    const run = await api.get(path);
    return ENDED.has(run.status) && run.last_event <= seq;
  }

  async function follow() {
    onState("connecting");
    while (!closed) {
      let problem = null;
      try {
        if ((await read()) || (!closed && (await isOver()))) break;
      } catch (error) {
        problem = error;
      }
      if (closed) return;
      // The server has answered, and would answer the same again.
      if ([401, 403, 404].includes(problem?.status)) {
        onState("ended", problem);
        return;
      }
      onState("lost", problem);
      await pause(wait * (0.5 + Math.random()));
      wait = Math.min(wait * 2, LONGEST_WAIT);
    }
    if (!closed) onState("ended");
  }

  const retryNow = () => {
    clearTimeout(timer);
    wake();
  };
  addEventListener("online", retryNow);
  follow();
  return {
    close() {
      closed = true;
      removeEventListener("online", retryNow);
      retryNow();
      aborting.abort();
    },
  };
}

// Call `fn` now and every so many seconds, never twice at a time, and not while no one looks at the tab.
export function poll(fn, seconds) {
  const every = Math.max(2, seconds) * 1000;
  let stopped = false;
  let timer = null;
  let running = false;

  async function turn() {
    clearTimeout(timer);
    if (stopped || running || document.hidden) return;
    running = true;
    try {
      await fn();
    } finally {
      running = false;
      if (!stopped) timer = setTimeout(turn, every);
    }
  }

  document.addEventListener("visibilitychange", turn);
  turn();
  return () => {
    stopped = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", turn);
  };
}

// The address of a run's export or page, for a link.
export function runAddress(runId, below = "", params = {}) {
  return address(`v1/runs/${encodeURIComponent(runId)}${below}`, params).href;
}
