/**
 * A client of Turnwise: every request of the HTTP API with its types, and what a generator cannot make: repeated
 * requests, and the events of a run.
 */

export type * from "./api.js";
export { createTurnwise, type Turnwise, type TurnwiseOptions } from "./client.js";
export { ProblemError, answered } from "./problems.js";
export { type DeltaView, type EventsOptions, type StreamItem } from "./events.js";
