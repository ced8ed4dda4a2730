/** A run's events over connections that may break. */

import { EventSourceParserStream } from "eventsource-parser/stream";
import type { Client } from "openapi-fetch";

import type { EventView, paths } from "./api.js";
import { ProblemError, answered, problemOf } from "./problems.js";
import { longer, slept } from "./repeating.js";

/** A piece of an answer that is being written. It has no number, and may be lost; the event that follows has all. */
export interface DeltaView {
  type: "llm.delta";
  run: string;
  ask: string;
  attempt: number;
  offset: number;
  text: string;
  seq?: never;
}

export type StreamItem = EventView | DeltaView;

export interface EventsOptions {
  /** Begin behind the event of this number. */
  after?: number;
  /** Stream answers of models as well whose settings leave that open. */
  text?: boolean;
  /** Seconds for which the gateway may be away, or refuse with 429; 60 if left out. */
  patience?: number;
  signal?: AbortSignal;
}

/** What a reader needs of the client. */
export interface Connection {
  baseUrl: string;
  headers: Record<string, string>;
  send: (request: Request) => Promise<Response>;
  client: Client<paths>;
}

const LAST = ["run.completed", "run.failed", "run.cancelled"];
/** The gateway says something at least every 15 s, so a longer silence is a dead connection. */
const SILENCE = 45_000;
const FIRST_PAUSE = 200;

/** Yield each event once, in order, over as many connections as it takes. */
export async function* readEvents(
  connection: Connection,
  run: string,
  { after = 0, text = false, patience = 60, signal }: EventsOptions,
): AsyncGenerator<StreamItem, void, void> {
  let [seq, pause] = [after, FIRST_PAUSE];
  // Time of the first failure since the gateway last answered.
  let failingSince: number | undefined;
  const connected = (): void => {
    failingSince = undefined;
  };
  const isOver = async (): Promise<boolean> => {
    const path = { run_id: run };
    const now = await answered(
      connection.client.GET("/v1/runs/{run_id}", { params: { path }, ...(signal && { signal }) }),
    );
    return now.finished_at !== null && now.last_event <= seq;
  };
  for (;;) {
    let asked = 0;
    try {
      for await (const item of oneConnection(connection, run, seq, text, signal, connected)) {
        pause = FIRST_PAUSE;
        if (item.seq !== undefined) seq = item.seq;
        yield item;
        // A run that was retried has events behind the one that was its last.
        if (LAST.includes(item.type) && (await isOver())) return;
      }
      // Closed without the last event: the gateway is stopping, or there is none after the number given.
      if (await isOver()) return;
    } catch (error) {
      const refusal = error instanceof ProblemError ? error : undefined;
      // What is no JSON does not come from a gateway, so waiting for it does not help.
      const passing = refusal === undefined ? !(error instanceof SyntaxError) : refusal.status >= 500 || refusal.status === 429;
      if (refusal?.status === 429) asked = 1_000 * (refusal.retryAfter ?? 0);
      failingSince ??= Date.now();
      if (signal?.aborted || !passing || Date.now() + asked - failingSince >= 1_000 * patience) throw error;
    }
    await slept(Math.max(pause, asked), signal);
    pause = longer(pause);
  }
}

async function* oneConnection(
  { baseUrl, headers, send }: Connection,
  run: string,
  seq: number,
  text: boolean,
  signal: AbortSignal | undefined,
  connected: () => void,
): AsyncGenerator<StreamItem, void, void> {
  const silence = new AbortController();
  const url = `${baseUrl}/v1/runs/${encodeURIComponent(run)}/events${text ? "?text=true" : ""}`;
  const request = new Request(url, {
    headers: { ...headers, Accept: "text/event-stream", "Last-Event-ID": String(seq) },
    signal: signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]),
  });
  let alarm: ReturnType<typeof setTimeout> | undefined;
  const listen = (): void => {
    clearTimeout(alarm);
    alarm = setTimeout(() => silence.abort(new Error(`no word of ${run} for ${SILENCE / 1_000} s`)), SILENCE);
  };
  listen();
  const heard = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      listen();
      controller.enqueue(piece);
    },
  });
  try {
    const response = await send(request);
    const isStream = response.headers.get("Content-Type")?.toLowerCase().startsWith("text/event-stream");
    if (!response.ok || response.body === null || !isStream) throw await problemOf(response);
    connected();
    const events = response.body
      .pipeThrough(heard)
      .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
      .pipeThrough(new EventSourceParserStream())
      .getReader();
    try {
      for (let next = await events.read(); !next.done; next = await events.read()) {
        yield JSON.parse(next.value.data) as StreamItem;
      }
    } finally {
      await events.cancel().catch(() => undefined);
    }
  } finally {
    clearTimeout(alarm);
  }
}
