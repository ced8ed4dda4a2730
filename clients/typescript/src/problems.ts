/** Refusals of the gateway as errors. */

import type { Problem } from "./api.js";

/** A refusal: `code` is its stable name, the message says what to do. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly status: number;
  readonly code: string;
  readonly problem: Problem | undefined;
  /** Seconds after which the gateway asks to be tried again, where it names them. */
  readonly retryAfter: number | undefined;

  constructor(response: Response, body: unknown) {
    const problem = isProblem(body) ? body : undefined;
    super(problem?.detail ?? `${response.url} answered ${response.status} and no problem document; is it a gateway?`);
    this.status = response.status;
    this.code = problem?.code ?? "error";
    this.problem = problem;
    this.retryAfter = retryAfter(response);
  }
}

interface Exchange<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Return what a request was answered with; throws `ProblemError` for a refusal. */
export async function answered<T>(exchange: Promise<Exchange<T>>): Promise<NonNullable<T>> {
  const { data, error, response } = await exchange;
  if (!response.ok) throw new ProblemError(response, error);
  return data as NonNullable<T>;
}

/** Return the error for a refusal whose body was not read yet. */
export async function problemOf(response: Response): Promise<ProblemError> {
  const body: unknown = await response.json().catch(() => undefined);
  return new ProblemError(response, body);
}

/** Return the seconds after which the gateway asks to be tried again. */
export function retryAfter(response: Response): number | undefined {
  const given = response.headers.get("Retry-After");
  return given !== null && /^\d+$/.test(given) ? Number(given) : undefined;
}

function isProblem(body: unknown): body is Problem {
  return typeof body === "object" && body !== null && "code" in body;
}
