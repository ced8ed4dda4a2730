// Routes behind the `#`: `#/runs/RUN?tab=events` is the page `runs`, the parts `["RUN"]` and the query `tab=events`.
import { useEffect, useRef, useState } from "./preact.js";

const changes = new EventTarget();

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [page = "", ...parts] = path.split("/").map(decoded);
  return { page, parts: parts.filter(Boolean), query: new URLSearchParams(query) };
}

// The address of a page, for `href`. Parameters that are null, undefined or "" are left out.
export function link(page, parts = [], query = {}) {
  const path = [page, ...parts].map(encodeURIComponent).join("/");
  const pairs = query instanceof URLSearchParams ? [...query] : Object.entries(query);
  const kept = new URLSearchParams(pairs.filter(([, value]) => value !== null && value !== undefined && value !== ""));
  return `#/${path}${kept.size ? `?${kept}` : ""}`;
}

export function go(page, parts, query) {
  location.hash = link(page, parts, query);
}

// Change parameters of the page that is shown, in place: the browser's Back leaves the page, not a filter.
export function setQuery(changed) {
  const { page, parts, query } = route();
  for (const [name, value] of Object.entries(changed)) {
    if (value === null || value === undefined || value === "") query.delete(name);
    else query.set(name, value);
  }
  history.replaceState(history.state, "", link(page, parts, query));
  changes.dispatchEvent(new Event("change"));
}

export function useRoute() {
  const [now, setNow] = useState(route);
  const first = useRef(location.hash);
  useEffect(() => {
    const follow = () => setNow(route());
    addEventListener("hashchange", follow);
    changes.addEventListener("change", follow);
    // It may have changed since the first render, before anyone listened.
    if (location.hash !== first.current) follow();
    return () => {
      removeEventListener("hashchange", follow);
      changes.removeEventListener("change", follow);
    };
  }, []);
  return now;
}
