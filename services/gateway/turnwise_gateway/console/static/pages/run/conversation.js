// A run's conversation: put together from its transcript, and continued by the events after it. Nothing here touches
// the page.

const ENDS = { "run.completed": "completed", "run.failed": "failed", "run.cancelled": "cancelled" };
const MARKS = new Set(["run.forked", "limit.reached", "limits.changed", "ask.parked", "ask.resolved"]);
// Events that change no more than how long something takes, so that the run need not be asked for again.
const QUIET = new Set(["llm.delta", "turn.replied", "turn.taken", "turn.rejected", "turn.none"]);

export class Conversation {
  constructor() {
    this.seq = 0;
    // Calls of tasks, in the order in which they began; a task's sub-tasks follow it at once.
    this.nodes = [];
    this.entries = [];
    this.usage = new Map();
    this.asked = null;
    this.live = null;
    this.ended = null;
    this.open = [];
  }

  // What `GET .../transcript?rejected=true` says.
  static of(transcript) {
    const made = new Conversation();
    // While gateways of two versions serve, the older one does not say where it ends: then the events tell all of it.
    if (!transcript.last_event) return made;
    made.seq = transcript.last_event;
    if (transcript.root) made.#task(transcript.root);
    for (const used of transcript.usage) made.#use(used.task, used, 1);
    for (const note of transcript.notes) made.#note(note);
    return made;
  }

  #task(item) {
    const node = this.#begin(item.task, item.event, item.at);
    node.cost = Number(item.cost);
    for (const part of item.items) {
      if (part.kind === "task") this.#task(part);
      else if (part.kind === "message") this.#message(node, part);
    }
    if (item.ended_at) this.#finish(node, item.status, item.ended_at, item.ended_event);
  }

  #begin(path, event, at) {
    const parent = this.open.at(-1) ?? null;
    const node = { no: this.nodes.length, path, name: path.split("/").at(-1), depth: this.open.length, event, at, endedAt: null, status: null, cost: 0, messages: 0, model: null, parent };
    node.last = node.no;
    this.nodes.push(node);
    for (const one of this.open) one.last = node.no;
    this.open.push(node);
    this.entries.push({ key: `b${event}`, kind: "started", event, at, node });
    return node;
  }

  #message(node, { event, at, turn, responder, model, document, rejected, passed = false }) {
    node.messages += rejected ? 0 : 1;
    this.entries.push({ key: `m${event}`, kind: rejected ? "rejected" : "message", event, at, node, turn, responder, model: model ?? null, document, passed });
  }

  #finish(node, status, at, event) {
    node.status = status;
    node.endedAt = at;
    this.open.splice(this.open.indexOf(node), 1);
    this.entries.push({ key: `f${node.no}`, kind: "finished", event, at, node, status });
  }

  #use(task, used, sign) {
    const key = JSON.stringify([task, used.model ?? null]);
    const sum = this.usage.get(key) ?? { task, model: used.model ?? null, prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0, calls: 0, unpriced_calls: 0, cost: 0 };
    for (const name of ["prompt_tokens", "cached_tokens", "completion_tokens", "calls"]) sum[name] += sign * (used[name] ?? 0);
    sum.unpriced_calls += used.unpriced_calls ?? (used.cost === null ? (used.calls ?? 0) : 0);
    sum.cost += sign * Number(used.cost ?? 0);
    this.usage.set(key, sum);
  }

  // Something that is no message, in its place by its number.
  #note({ seq, at, type, data }) {
    const last = this.entries.findLastIndex((entry) => entry.event < seq);
    const node = this.entries[last]?.node ?? null;
    this.entries.splice(last + 1, 0, { key: `k${seq}`, kind: "mark", event: seq, at, node, type, data: data ?? {} });
  }

  // The last event that said something, or began or ended a task. Who is asked since then the transcript does not say.
  get lastSaid() {
    return this.entries.findLast((entry) => entry.kind !== "mark")?.event ?? 0;
  }

  // Take in who is asked, of events that the transcript has seen.
  recall(events) {
    for (const event of events) this.#asking(event);
  }

  #asking({ type, seq, at, turn, ask, task, data }) {
    if (type === "turn.asked" || type === "human.asked") {
      this.asked = { ask, responder: data?.responder ?? (type === "human.asked" ? "User" : ""), task, turn, at, event: seq };
      this.live = null;
    } else if (type in ENDS) this.#answered();
    else if (this.asked && (type === "ask.parked" || type === "ask.resolved")) this.asked = { ...this.asked, isParked: type === "ask.parked" };
  }

  // Take in an event of the stream. Returns what is to be asked for anew: "transcript" if the past has changed, "run" if
  // the run's own state may have, or null.
  take(event) {
    if (event.type === "llm.delta") {
      this.#delta(event);
      return null;
    }
    // A connection that was made again may repeat what is known.
    if (event.seq <= this.seq) return null;
    this.seq = event.seq;
    const data = event.data ?? {};
    const top = this.open.at(-1);
    const { type, seq, at, turn } = event;
    if (type === "run.retried") return "transcript";
    if (type === "task.started") {
      const node = this.#begin(event.task, seq, at);
      if (data.document) this.#message(node, { event: seq, at, turn, responder: null, document: data.document });
    } else if ((type === "turn.taken" || type === "turn.rejected") && top && data.document) {
      const model = data.responder === "LLM" ? top.model : null;
      this.#message(top, { event: seq, at, turn, responder: data.responder, model, document: data.document, rejected: type === "turn.rejected", passed: data.passed === true });
      this.#answered();
    } else if (type === "task.finished" && top) {
      this.#finish(top, data.status, at, seq);
    } else if (type === "usage.settled") {
      this.#settled(event, data);
    } else if (type in ENDS) {
      this.ended = ENDS[type];
    } else if (MARKS.has(type)) {
      if (type === "run.forked") this.usage.clear();
      this.#note(event);
    }
    this.#asking(event);
    return QUIET.has(type) ? null : "run";
  }

  #answered() {
    this.asked = null;
    this.live = null;
  }

  #settled(event, data) {
    this.#use(event.task, data, 1);
    if (data.corrects) this.#use(event.task, { ...data.corrects, model: data.model }, -1);
    const node = this.open.findLast((one) => one.path === event.task);
    if (!node) return;
    node.cost += Number(data.cost ?? 0) - Number(data.corrects?.cost ?? 0);
    node.model = data.model ?? node.model;
  }

  // A piece of an answer in progress. Pieces may be lost, and another attempt begins anew.
  #delta({ ask, attempt, offset, text }) {
    if (this.asked && this.asked.ask !== ask) return;
    if (this.live?.ask !== ask || this.live.attempt !== attempt) this.live = { ask, attempt, text: "", length: 0, gaps: 0 };
    const live = this.live;
    // An offset counts characters; a string counts those beyond 16 bits, such as emoji, twice.
    const characters = Array.from(text).slice(Math.max(0, live.length - offset));
    if (!characters.length) return;
    if (offset > live.length) {
      live.text += live.text ? " … " : "… ";
      live.gaps += 1;
    }
    live.length = Math.max(offset, live.length) + characters.length;
    live.text += characters.join("");
  }

  // A picture of it for the page, which later events leave as it is.
  picture() {
    const { seq, asked, ended } = this;
    return { seq, asked, ended, live: this.live && { ...this.live }, nodes: this.nodes.slice(), entries: this.entries.slice(), usage: [...this.usage.values()] };
  }
}

// The entries to show: those of one task and of the tasks that it called, with or without rejected answers.
export function shown(entries, { node = null, rejected = false } = {}) {
  if (node === null && rejected) return entries;
  return entries.filter((entry) => (rejected || entry.kind !== "rejected") && (node === null || (entry.node && entry.node.no >= node.no && entry.node.no <= node.last)));
}
