// Two conversations side by side. Nothing here touches the page.
import { writeJson } from "../../lib/json.js";
import { partsOf } from "./document.js";

// What of an entry makes it the same as another: ids and times differ always, and say nothing.
function meaning(entry) {
  if (entry.kind === "started") return `started ${entry.node.path}`;
  if (entry.kind === "finished") return `finished ${entry.node.path} ${entry.status ?? ""}`;
  const parts = partsOf(entry.document);
  const tools = parts.tools.map((tool) => [tool.name, tool.fields ?? tool.raw]);
  return writeJson([entry.node.path, entry.responder, parts.recipient, parts.text, parts.value, tools, parts.results.map((one) => one.text)]);
}

// Pairs `{left, right, same}` of the entries in their order, and the index of the first pair that differs (-1: none).
// Behind that, nothing is claimed to belong together: the runs have parted.
export function compared(left, right) {
  const pairs = [];
  let first = -1;
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const [one, other] = [left[index] ?? null, right[index] ?? null];
    const same = first === -1 && one !== null && other !== null && meaning(one) === meaning(other);
    if (!same && first === -1) first = index;
    pairs.push({ left: one, right: other, same });
  }
  return { pairs, first };
}

export const comparable = (entries) => entries.filter((entry) => ["started", "message", "finished"].includes(entry.kind));
