// Why a run waits, and what a person can do about an end. Nothing here touches the page.
import { time } from "../../lib/format.js";

const UTC = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC/g;

// The sentence of the API; where it names a command, one of this page's own, as the action stands below it.
export function sentenceOf(waiting) {
  if (waiting.kind === "human") return `A person has to answer the question of the task ${waiting.task}.`;
  if (waiting.kind === "parked") {
    const what = waiting.tool ? `a call of the tool ${waiting.tool}` : "an answer";
    return waiting.reason === "attempts_exhausted"
      ? `Worker after worker was lost, or could not write the outcome, at ${what} by ${waiting.agent}, so it is parked: a person has to say how to continue.`
      : `No one knows whether ${what} by ${waiting.agent} happened, so it is parked: a person has to say how to continue.`;
  }
  // Its times are for every reader; here they are in the zone of this one.
  return waiting.sentence?.replace(UTC, (_, day, clock) => time(`${day}T${clock}Z`)) ?? `It waits: ${waiting.kind}.`;
}

// The action that ends the waiting, if it is one of this page.
export function actionFor(waiting) {
  return { human: "answer", parked: "resolve", budget: waiting?.scope === "run" ? "limits" : null }[waiting?.kind] ?? null;
}

const BY_KIND = {
  unavailable: "The provider did not answer. Retry the run once it does: nothing that was done is done again.",
  timeout: "The provider took too long. Retry the run; if that repeats, raise the model's timeout.",
  rate_limited: "The provider refused so many calls. Retry the run later, or set a limit for the provider.",
  quota: "The account with the provider has nothing left. Fill it up, then retry the run.",
  auth: "The provider refused the key. Correct it where the workers run, then retry the run.",
  request: "The provider refused the request as it is. Fork the run with another model, or correct the application and retry.",
  context: "The conversation is too long for the model. Fork the run with a model that has a larger context.",
};
const BY_CODE = {
  TIMEOUT: "Its deadline has passed. Retry it with a new deadline.",
  STALLED: "No one had anything to say. Fork it at an earlier message; the same answers would end it again.",
  MAX_TURNS: "It reached the highest number of turns. Fork it at an earlier message with a higher limit of turns.",
  INF_LOOP: "Its messages repeated. Fork it at an earlier message, perhaps with another model.",
};

// Returns `{text, actions}` for a run that has failed or was stopped by a limit; null for any other.
export function adviceFor(run) {
  if (run.stopped && run.status === "completed") {
    return { text: "A limit ended it, so no one knows whether its work is done. Fork it from its last message with a higher limit.", actions: ["fork"] };
  }
  if (run.status !== "failed") return null;
  const forks = run.status_code in BY_CODE && run.status_code !== "TIMEOUT";
  const text = BY_CODE[run.status_code] ?? BY_KIND[run.error?.kind] ?? "Correct what the error names, then retry the run: it continues where it failed.";
  return { text, actions: forks ? ["fork"] : ["retry", "fork"] };
}
