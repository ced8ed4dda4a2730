// A timeline in the shapes that the page draws. Nothing here touches the page.

// Words and a pattern of their own for each kind of time, so that none is told by colour alone.
export const KINDS = {
  queue: "Waiting in a queue",
  model: "Calls of models",
  tool: "Tools",
  worker: "Worker beside calls",
  provider: "Limit of a provider",
  batch: "Batch of a provider",
  outage: "Provider away",
  budget: "Waiting for a budget",
  retry: "Failed calls and waits after them",
  lost: "Lost work",
  human: "Waiting for a person",
  parked: "Parked",
  session: "Earlier run of the session",
  paused: "Paused",
  move: "Moves",
  over: "Between end and retry",
  unknown: "Not known",
};

// The marks of the axis: about `most` of them, at round seconds.
export function ticks(seconds, most = 6) {
  if (!(seconds > 0)) return [0];
  const rough = seconds / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const made = [];
  for (let at = 0; at <= seconds * 1.0001; at += step) made.push(Number(at.toPrecision(10)));
  return made;
}

// Spans as parts of the window from `from`, `length` seconds long, in thousandths of it.
export function placed(spans, from, length) {
  return spans
    .filter((span) => span.start + span.seconds >= from && span.start <= from + length)
    .map((span) => {
      const left = Math.max(0, (1000 * (span.start - from)) / length);
      const right = Math.min(1000, (1000 * (span.start + span.seconds - from)) / length);
      return { ...span, x: left, width: Math.max(1.5, right - left) };
    });
}

export function whoOf(item) {
  if (item.kind === "begin") return "Beginning";
  if (item.kind === "over") return "Ended, then retried";
  const role = { llm: "model", agent: "tools", human: "person" }[item.responder] ?? item.responder;
  return `${item.task} · ${role}`;
}

// The costs of turns: by the ask's task and turn, of the messages that it led to.
export function costsOf(entries) {
  const costs = new Map();
  for (const entry of entries) {
    const cost = entry.document?.metadata?.usage?.cost;
    if (cost === undefined || cost === null || entry.responder !== "LLM") continue;
    const key = `${entry.node.path} ${entry.turn}`;
    costs.set(key, (costs.get(key) ?? 0) + Number(cost));
  }
  return costs;
}
