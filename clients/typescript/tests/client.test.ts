/** The client against a real gateway: TURNWISE_URL and TURNWISE_API_KEY name it. Its application is tests/support/mcp_desk.py. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type BatchResultView, ProblemError, type RunView, type StreamItem, answered, createTurnwise } from "../src/index.js";

const url = process.env["TURNWISE_URL"] ?? "http://127.0.0.1:8080";
const key = process.env["TURNWISE_API_KEY"] ?? "";
const client = createTurnwise(url, { key });

async function submitted(task: string, message: string, tags: string[] = []): Promise<RunView> {
  const query = { wait: 30 };
  return answered(client.POST("/v1/runs", { params: { query }, body: { task, message, tags } }));
}

async function read(events: AsyncGenerator<StreamItem>): Promise<StreamItem[]> {
  const items: StreamItem[] = [];
  for await (const item of events) items.push(item);
  return items;
}

test("a run asks, is answered, and is read to its end", async () => {
  const run = await submitted("trip", "A trip to Lyon");
  assert.equal(run.status, "waiting");
  const inbox = await answered(client.GET("/v1/inbox"));
  const [asked] = inbox.items.filter((item) => item.run === run.id);
  assert.equal(asked?.kind === "question" && asked.text, "Shall I book Lyon?");

  const path = { run_id: run.id };
  await answered(client.POST("/v1/runs/{run_id}/messages", { params: { path }, body: { text: "yes" } }));
  const items = await read(client.events(run.id));

  assert.deepEqual(items.map((item) => item.seq), items.map((_, number) => number + 1));
  assert.equal(items.at(-1)?.type, "run.completed");
  const ended = await answered(client.GET("/v1/runs/{run_id}", { params: { path } }));
  assert.equal(ended.result?.content, "It is booked.");
  assert.deepEqual(await read(client.events(run.id, { after: ended.last_event })), []);
});

test("logs and the results of batches are read as text", async () => {
  const run = await submitted("shout it/out", "good morning");
  const log = await answered(client.GET("/v1/runs/{run_id}/log", { params: { path: { run_id: run.id } }, parseAs: "text" }));
  assert.ok(log.includes("GOOD MORNING"));

  const batch = await answered(client.POST("/v1/batches/open", { body: { task: "shout it/out" } }));
  const path = { batch_id: batch.id };
  const body = { first: 1, items: [{ message: "one" }, { message: "two" }] };
  await answered(client.POST("/v1/batches/{batch_id}/items", { params: { path }, body }));
  let found: BatchResultView[] = [];
  for (const end = Date.now() + 30_000; found.length < 2 && Date.now() < end; ) {
    const lines = await answered(client.GET("/v1/batches/{batch_id}/results", { params: { path }, parseAs: "text" }));
    found = lines.split("\n").filter(Boolean).map((line): BatchResultView => JSON.parse(line));
  }
  assert.deepEqual(found.map((one) => one.line), [1, 2]);
});

test("events continue where a lost connection ended", async () => {
  let connections = 0;
  const losing = createTurnwise(url, {
    key,
    fetch: async (request) => {
      const response = await fetch(request);
      if (!request.url.endsWith("/events") || ++connections > 2 || response.body === null) return response;
      return new Response(brokenAfter(response.body, 400), { status: response.status, headers: response.headers });
    },
  });
  const run = await submitted("shout it/out", "good day");

  const items = await read(losing.events(run.id));

  assert.equal(connections, 3);
  assert.deepEqual(items.map((item) => item.seq), items.map((_, number) => number + 1));
  assert.equal(items.at(-1)?.type, "run.completed");
});

test("a gateway that is away before the first connection is waited for", async () => {
  let away = 1;
  const restarting = createTurnwise(url, {
    key,
    retries: 0,
    fetch: async (request) => {
      if (request.url.endsWith("/events") && away-- > 0) throw new TypeError("the connection was refused");
      return fetch(request);
    },
  });
  const run = await submitted("shout it/out", "good evening");

  assert.equal((await read(restarting.events(run.id))).at(-1)?.type, "run.completed");
});

test("a proxy without a gateway, and a refusal for too many requests, are waited for", async () => {
  const headers = { "Retry-After": "1" };
  const refusals = [new Response("<html>", { status: 502 }), new Response("{}", { status: 429, headers })];
  const refused = createTurnwise(url, {
    key,
    fetch: async (request) => (request.url.endsWith("/events") ? refusals.shift() : undefined) ?? fetch(request),
  });
  const run = await submitted("shout it/out", "good night");

  const began = Date.now();
  assert.equal((await read(refused.events(run.id))).at(-1)?.type, "run.completed");
  assert.ok(Date.now() - began >= 1_000);

  refusals.push(new Response("{}", { status: 429, headers: { "Retry-After": "60" } }));
  const busy = (error: unknown): boolean => error instanceof ProblemError && error.status === 429;
  await assert.rejects(read(refused.events(run.id, { patience: 30 })), busy);
});

test("an answer that is no stream of events is no gateway", async () => {
  const page = (): Response => new Response("<html>", { headers: { "Content-Type": "text/html" } });
  const elsewhere = createTurnwise(url, { key, fetch: async () => page() });
  const stranger = (error: unknown): boolean =>
    error instanceof ProblemError && error.status === 200 && error.message.includes("is it a gateway?");
  await assert.rejects(read(elsewhere.events("run_1")), stranger);

  const half = createTurnwise(url, {
    key,
    fetch: async (request) =>
      request.url.endsWith("/events") ? new Response("", { headers: { "Content-Type": "text/event-stream" } }) : page(),
  });
  await assert.rejects(read(half.events("run_1")), SyntaxError);
});

test("a submission whose answer is lost is one run", async () => {
  let sent = 0;
  const losing = createTurnwise(url, {
    key,
    fetch: async (request) => {
      const response = await fetch(request);
      if (++sent > 1) return response;
      await response.body?.cancel();
      throw new TypeError("the connection was lost");
    },
  });

  const body = { task: "shout it/out", message: "once", tags: ["once"] };
  const run = await answered(losing.POST("/v1/runs", { body }));

  assert.equal(sent, 2);
  const listed = await answered(client.GET("/v1/runs", { params: { query: { tag: "once" } } }));
  assert.deepEqual(listed.items.map((item) => item.id), [run.id]);
});

test("without retries a failure is thrown at once", async () => {
  const once = createTurnwise("http://127.0.0.1:9", { retries: 0 });

  await assert.rejects(async () => once.GET("/v1/runs"), TypeError);
  await assert.rejects(async () => read(once.events("run_1", { patience: 0 })), TypeError);
});

test("a refusal has a code and says what to do", async () => {
  const refused = (error: unknown): boolean =>
    error instanceof ProblemError && error.code === "unknown_task" && error.message.includes("it has: shout it/out");
  await assert.rejects(submitted("fly", "away"), refused);

  const stranger = createTurnwise(url, { key: "another" });
  const unknown = (error: unknown): boolean => error instanceof ProblemError && error.status === 401;
  await assert.rejects(read(stranger.events("run_1")), unknown);
});

test("reading ends when it is aborted", async () => {
  const run = await submitted("trip", "A trip to Porto");
  const end = new AbortController();
  const reading = read(client.events(run.id, { signal: end.signal }));

  setTimeout(() => end.abort(), 200);

  await assert.rejects(reading, { name: "AbortError" });
});

/** Misuse that the checker has to find; never called. */
export async function misuse(): Promise<void> {
  // @ts-expect-error there is no such path
  await client.GET("/v1/run");
  // @ts-expect-error a submission needs a message
  await client.POST("/v1/runs", { body: { task: "trip" } });
  // @ts-expect-error a status is one of six
  await client.GET("/v1/runs", { params: { query: { status: "done" } } });
  const run = await answered(client.GET("/v1/runs/{run_id}", { params: { path: { run_id: "run_1" } } }));
  // @ts-expect-error a run has no such field
  void run.state;
}

/** Return the stream up to about so many bytes, and then a failure. */
function brokenAfter(stream: ReadableStream<Uint8Array>, limit: number): ReadableStream<Uint8Array> {
  let passed = 0;
  const breaking = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      controller.enqueue(piece.subarray(0, limit - passed));
      passed += piece.length;
      if (passed >= limit) controller.error(new TypeError("the connection was lost"));
    },
  });
  return stream.pipeThrough(breaking);
}
