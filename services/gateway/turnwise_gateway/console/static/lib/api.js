// Requests to the public API. Paths are relative to the console's own address, so a proxy's path needs no setting.
import { begun, forgetBegun } from "./begun.js";
import { parseJson, writeJson } from "./json.js";
import { Problem } from "./problem.js";

export { Problem };

// This file is at <root>/console/<digest>/lib/api.js.
export const ROOT = new URL("../../../", import.meta.url);

const events = new EventTarget();

// Call `listener(problem)` each time the server no longer knows who asks; returns a function that ends this.
export function onSignedOut(listener) {
  const heard = (event) => listener(event.detail);
  events.addEventListener("signed-out", heard);
  return () => events.removeEventListener("signed-out", heard);
}

export function signedOut(problem) {
  events.dispatchEvent(new CustomEvent("signed-out", { detail: problem }));
}

// The address of a path with its parameters; those that are null, undefined or "" are left out, lists are repeated.
export function address(path, params = {}) {
  const url = new URL(path, ROOT);
  for (const [name, value] of Object.entries(params)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") url.searchParams.append(name, one);
    }
  }
  return url;
}

// The response of a request that succeeded; throws a `Problem` for any other.
export async function fetched(method, path, { params, body, headers = {}, signal } = {}) {
  const sent = { Accept: "application/json", "X-Turnwise-Console": "1", ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  const { href } = address(path, params);
  if (method !== "GET") forgetBegun();
  let response;
  try {
    response = await (begun(href) ?? fetch(href, {
      method,
      headers: sent,
      body: body === undefined ? undefined : writeJson(body),
      signal,
      credentials: "same-origin",
      cache: "no-store",
    }));
    signal?.throwIfAborted();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw Problem.unreachable(method);
  }
  if (response.ok) return response;
  const problem = await Problem.in(response);
  if (problem.status === 401) signedOut(problem);
  throw problem;
}

async function asked(method, path, options) {
  const response = await fetched(method, path, options);
  return response.status === 204 ? null : parseJson(await response.text());
}

function change(method) {
  return (path, body, { idempotencyKey, params, signal } = {}) => {
    const headers = idempotencyKey ? { "Idempotency-Key": idempotencyKey } : {};
    return asked(method, path, { body, headers, params, signal });
  };
}

export const api = {
  get: (path, params, { signal } = {}) => asked("GET", path, { params, signal }),
  post: change("POST"),
  patch: change("PATCH"),
  put: change("PUT"),
  delete: change("DELETE"),
};

// A key for one action of a person: sent again after a lost answer, it is done once.
export function newIdempotencyKey() {
  // `randomUUID` exists only on pages of HTTPS or localhost.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

// Every item of a list, page by page, up to `most`.
export async function everyItem(path, params = {}, { most = 1000, signal } = {}) {
  const items = [];
  let cursor = null;
  do {
    const page = await api.get(path, { limit: 200, ...params, cursor }, { signal });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor && items.length < most);
  return items;
}
