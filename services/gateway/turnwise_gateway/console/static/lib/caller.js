// Who is signed in, for pages: `{name, tenant, scopes, operator, expires_at, authentication}` as `v1/sign-in` says it.
import { createContext, useContext } from "./preact.js";

export const CallerContext = createContext(null);

export function useCaller() {
  return useContext(CallerContext);
}

// A text that tells callers apart: what the console keeps for one is not for the next.
export function useOwner() {
  const caller = useCaller();
  return caller ? `${caller.tenant} ${caller.name}` : "";
}

export function useMayWrite() {
  return useCaller()?.scopes.includes("runs:write") ?? false;
}

// Scopes in words; a newer server may have one that is not known here.
const IN_WORDS = {
  "runs:read": "see runs, the inbox, tasks and usage",
  "runs:write": "submit, answer, cancel, retry and fork runs",
  admin: "administer keys, limits and the audit log",
};

export const SCOPES = Object.keys(IN_WORDS);

export function scopeInWords(scope) {
  return IN_WORDS[scope] ?? scope;
}
