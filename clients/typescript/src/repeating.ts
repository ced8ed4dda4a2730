/** Sending a request again when its outcome is unknown, so that it is done once. */

import { retryAfter } from "./problems.js";

type Send = (request: Request) => Promise<Response>;

const KEY = "Idempotency-Key";
/** Answers after which the same request may succeed: a proxy or a database was away for a moment. */
const PASSING = [502, 503, 504];
/** A second one of these changes nothing. */
const REPEATABLE = ["GET", "HEAD", "PUT"];
/** The gateway does these once for each key. */
const KEYED = ["POST", "PATCH"];
const FIRST_PAUSE = 200;
export const LONGEST_PAUSE = 3_000;

/** Return a `fetch` that sends a request again at most `retries` times. */
export function repeating(send: Send, retries: number): Send {
  return async (request) => {
    if (retries > 0 && KEYED.includes(request.method) && !request.headers.has(KEY)) {
      request.headers.set(KEY, newKey());
    }
    const repeatable = REPEATABLE.includes(request.method) || request.headers.has(KEY);
    for (let left = repeatable ? retries : 0, pause = FIRST_PAUSE; ; left--, pause = longer(pause)) {
      // Its body is read by sending it, so all but the last are sent as copies.
      const sent = left > 0 ? request.clone() : request;
      try {
        const response = await send(sent);
        if (left === 0 || !PASSING.includes(response.status)) return response;
        await response.body?.cancel();
        await slept(Math.max(pause, Math.min(1_000 * (retryAfter(response) ?? 0), LONGEST_PAUSE)), request.signal);
      } catch (error) {
        if (left === 0 || request.signal.aborted) throw error;
        await slept(pause, request.signal);
      }
    }
  };
}

/** Return a key that no one has used. A page of plain HTTP has no `randomUUID`. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Return the pause after one of so many milliseconds. */
export function longer(pause: number): number {
  return Math.min(2 * pause, LONGEST_PAUSE);
}

/** Wait for so many milliseconds; rejects once the signal is aborted. */
export function slept(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, milliseconds);
    if (signal?.aborted) end();
    else signal?.addEventListener("abort", end, { once: true });
  });
}
