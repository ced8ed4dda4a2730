/** The client: typed requests to a gateway, repeated where that is safe. */

import createClient, { type Client } from "openapi-fetch";

import type { paths } from "./api.js";
import { type EventsOptions, type StreamItem, readEvents } from "./events.js";
import { repeating } from "./repeating.js";

export interface TurnwiseOptions {
  /** An API key, or the server's token, where the gateway asks for one. */
  key?: string;
  /**
   * How often a request is sent again that was not answered, or with 502, 503 or 504; 2 if left out. A POST or PATCH goes
   * with an idempotency key, so that it is done once.
   */
  retries?: number;
  /** In place of the global fetch. */
  fetch?: (request: Request) => Promise<Response>;
}

/** Every request of the API as `GET`, `POST`, ... by its path, and the events of runs. */
export type Turnwise = Client<paths> & {
  /** Read a run's events as they happen, to the last one; continues after a lost connection. */
  events(run: string, options?: EventsOptions): AsyncGenerator<StreamItem, void, void>;
};

/** Make a client of the gateway at `url`, for instance http://127.0.0.1:8080. */
export function createTurnwise(url: string, options: TurnwiseOptions = {}): Turnwise {
  const baseUrl = url.replace(/\/+$/, "");
  const headers: Record<string, string> = options.key === undefined ? {} : { Authorization: `Bearer ${options.key}` };
  const send = options.fetch ?? ((request: Request) => fetch(request));
  const client = createClient<paths>({ baseUrl, headers, fetch: repeating(send, options.retries ?? 2) });
  const events = (run: string, wanted: EventsOptions = {}) => readEvents({ baseUrl, headers, send, client }, run, wanted);
  return Object.assign(client, { events });
}
