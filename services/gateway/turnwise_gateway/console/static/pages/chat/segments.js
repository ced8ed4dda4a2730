// A run's conversation as a chat: what the person said, what was said to him, and the work between. Nothing here touches
// the page.
import { partsOf } from "../run/document.js";

const idOf = (document) => document?.metadata?.id ?? null;

class Segments {
  constructor() {
    this.all = [];
  }

  work(entry) {
    const last = this.all.at(-1);
    if (last?.kind === "work") last.entries.push(entry);
    else this.all.push({ kind: "work", key: `w${entry.key}`, entries: [entry] });
  }

  // The last message of the work is one to the person, and no part of the work.
  said() {
    const last = this.all.at(-1);
    if (last?.kind !== "work" || last.entries.at(-1).kind !== "message") return;
    const entry = last.entries.pop();
    if (!last.entries.length) this.all.pop();
    this.all.push({ kind: "said", key: entry.key, entry, document: entry.document });
  }

  you(entry) {
    this.all.push({ kind: "you", key: entry.key, entry, document: entry.document });
  }

  // The result of the run. The message that it was made of is not shown twice.
  answer(result) {
    const last = this.all.at(-1);
    const origin = result.document?.metadata?.parent_id ?? null;
    if (last?.kind === "work" && idOf(last.entries.at(-1).document) === origin) {
      last.entries.pop();
      if (!last.entries.length) this.all.pop();
    }
    this.all.push({ kind: "said", key: "answer", document: result.document });
  }
}

// The result of a run that was stopped is the message that it was at: perhaps the person's own.
export function hasAnswer(run) {
  return Boolean(run.result) && run.status !== "cancelled";
}

// The segments of a run, in order: `{kind: "you" | "said", document}` and `{kind: "work", entries}`.
export function segmentsOf(picture, run) {
  const made = new Segments();
  for (const entry of picture.entries) {
    const isMessage = entry.kind === "message";
    if (isMessage && entry.responder === "User") {
      made.said();
      made.you(entry);
    } else if (isMessage && entry.responder === null && entry.node?.depth === 0) made.you(entry);
    else if (entry.node?.depth === 0 && (entry.kind === "started" || entry.kind === "finished")) continue;
    else made.work(entry);
  }
  if (run.status === "waiting" && run.waiting_for?.kind === "human") made.said();
  if (picture.ended !== null && hasAnswer(run)) made.answer(run.result);
  return made.all;
}

// The work in a few words: its tools and sub-tasks, each once.
export function outlineOf(entries) {
  const names = new Set();
  let messages = 0;
  for (const entry of entries) {
    if (entry.kind === "started") names.add(entry.node.name);
    if (entry.kind !== "message") continue;
    messages += 1;
    for (const tool of partsOf(entry.document).tools) names.add(tool.name);
  }
  const told = [...names].slice(0, 4).join(", ");
  const steps = `${messages} ${messages === 1 ? "message" : "messages"}`;
  return told ? `${told}${names.size > 4 ? ", …" : ""} · ${steps}` : steps;
}
