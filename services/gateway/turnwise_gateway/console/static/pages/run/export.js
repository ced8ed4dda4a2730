// A run as files that the browser keeps.
import { api, fetched } from "../../lib/api.js";
import { writeJson } from "../../lib/json.js";
import { runPath } from "../../lib/live.js";
import { eventsSoFar } from "./event_reader.js";

export function save(name, parts, type) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}


export async function saveTranscript(runId) {
  const found = await api.get(runPath(runId, "/transcript"), { rejected: true });
  save(`${runId}.transcript.json`, [writeJson(found, 2)], "application/json");
}

export async function saveEvents(runId) {
  const parts = [];
  for await (const found of eventsSoFar(runId)) parts.push(...found.map((event) => `${writeJson(event)}\n`));
  save(`${runId}.events.jsonl`, parts, "application/x-ndjson");
}

// Kept as a file, never opened here: a page of this origin could do what the reader may.
export async function saveLog(runId) {
  const response = await fetched("GET", runPath(runId, "/log"), { params: { download: true }, headers: { Accept: "text/html" } });
  save(`${runId}.html`, [await response.blob()], "text/html");
}
