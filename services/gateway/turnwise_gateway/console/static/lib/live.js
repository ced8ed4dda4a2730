// Everything that stays up to date: a run's event stream, and questions asked again and again.
import { address, api, fetched } from "./api.js";
import { Waits, seen } from "./attempts.js";
import { parseJson } from "./json.js";

const LAST = new Set(["run.completed", "run.failed", "run.cancelled"]);
const ENDED = new Set(["completed", "failed", "cancelled"]);
// A connection that was there for so many ms was a good one.
const LONG_ENOUGH = 15_000;
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
// connection is made again, and continues after the last event. While no one looks at the tab there is none: a browser
// has six for each server, and all that is open in it shares them.
export function watchRun(runId, { after = 0, onEvent, onState = () => {} }) {
  const path = runPath(runId);
  const closing = new AbortController();
  const { signal } = closing;
  const waits = new Waits();
  let seq = after;
  let reading = new AbortController();
  let isLeft = false; // no one looks at the tab any more

  async function read() {
    let silence = null;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => reading.abort(), LONGEST_SILENCE);
    };
    heard();
    let begun = Infinity;
    try {
      const response = await fetched("GET", `${path}/events`, {
        params: { text: true, after: seq },
        headers: { Accept: "text/event-stream" },
        signal: reading.signal,
      });
      begun = Date.now();
      onState("live");
      let last = null;
      for await (const event of eventsOf(response, heard)) {
        if (reading.signal.aborted) return false;
        waits.reset();
        if (event.id !== null && event.id !== "") {
          seq = Number(event.id);
          last = event.type;
        }
        const data = parseJson(event.data);
        onEvent({ type: event.type, seq: data.seq ?? null, data });
      }
      return LAST.has(last);
    } finally {
      clearTimeout(silence);
      if (Date.now() - begun > LONG_ENOUGH) waits.reset();
    }
  }

  async function isOver() {
    const run = await api.get(path);
    return ENDED.has(run.status) && run.last_event <= seq;
  }

  async function follow() {
    onState("connecting");
    for (;;) {
      await seen(signal);
      if (signal.aborted) return;
      reading = new AbortController();
      isLeft = false;
      let problem = null;
      try {
        if ((await read()) || (!reading.signal.aborted && (await isOver()))) break;
      } catch (error) {
        problem = error;
      }
      if (signal.aborted) return;
      // The server has answered, and would answer the same again.
      if ([401, 403, 404].includes(problem?.status)) {
        onState("ended", problem);
        return;
      }
      if (isLeft) continue;
      onState("lost", problem);
      await waits.next(signal);
    }
    if (!signal.aborted) onState("ended");
  }

  const leave = () => {
    if (!document.hidden) return;
    isLeft = true;
    reading.abort();
  };
  document.addEventListener("visibilitychange", leave, { signal });
  follow();
  return {
    close() {
      closing.abort();
      reading.abort();
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

// The path of a run in the API, or of what is below it.
export const runPath = (runId, below = "") => `v1/runs/${encodeURIComponent(runId)}${below}`;

// The address of a run's export or page, for a link.
export function runAddress(runId, below = "", params = {}) {
  return address(runPath(runId, below), params).href;
}
