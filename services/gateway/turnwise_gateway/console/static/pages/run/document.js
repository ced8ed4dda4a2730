// What a message of the record says, in parts: text, tools, results, reasoning. Nothing here touches the page.
import { parseJson } from "../../lib/json.js";

// Marks, and fields that describe the tool itself: not the arguments of a call.
const INNER = new Set(["$tool", "$agent", "$text", "$fields", "request", "purpose", "id"]);
const MOST_PARSED = 200_000;

function meant(fields) {
  return { ...Object.fromEntries(Object.entries(fields).filter(([name]) => !INNER.has(name))), ...fields.$fields };
}

// A text that is a JSON object or list and nothing else; undefined for any other.
export function parsed(text) {
  const stripped = text.trim();
  if (!/^[[{]/.test(stripped) || stripped.length > MOST_PARSED) return undefined;
  try {
    return parseJson(stripped);
  } catch {
    return undefined;
  }
}

function call({ id, function: called }) {
  const given = called?.arguments;
  const fields = typeof given === "string" ? parsed(given) : given;
  return { id: id ?? null, name: called?.name ?? "?", fields: fields ?? null, raw: fields === undefined || fields === null ? (called?.raw ?? given ?? "") : null };
}

// API calls, or else the tools that were found in the text.
function toolsOf(document) {
  const calls = (document.oai_tool_calls ?? []).map(call);
  if (!calls.length && document.function_call) calls.push(call({ function: document.function_call }));
  const known = new Set(calls.map((one) => one.name));
  const attached = (document.tool_messages ?? []).filter((tool) => !known.has(tool.request));
  return [...calls, ...attached.map((tool) => ({ id: tool.id || null, name: tool.request ?? tool.$tool ?? "?", fields: meant(tool), raw: null }))];
}

export function partsOf(document) {
  const metadata = document.metadata ?? {};
  const tools = toolsOf(document);
  const text = document.content ?? "";
  const value = text ? parsed(text) : undefined;
  // A text that is nothing but the tool is shown as the tool.
  const isTool = value !== undefined && tools.length > 0 && (metadata.sender ?? "User") === "LLM";
  return {
    sender: metadata.sender ?? "User",
    name: metadata.sender_name ?? "",
    recipient: metadata.recipient ?? "",
    text: isTool ? "" : text,
    value: isTool ? undefined : value,
    tools,
    results: Object.entries(document.oai_tool_id2result ?? {}).map(([id, result]) => ({ id, text: String(result) })),
    reasoning: document.reasoning ?? "",
    files: (document.files ?? []).length,
    usage: metadata.usage ?? null,
    isCached: metadata.cached === true,
    isTainted: metadata.tainted === true,
  };
}

// Who said it: the name of the one who answered, and a kind for its colour.
export function speakerOf(entry, parts) {
  const { responder, node } = entry;
  if (responder === "LLM") return { name: `${node.name}`, kind: "llm", role: "model" };
  if (responder === "Agent") return { name: node.name, kind: "agent", role: "tools" };
  if (responder === "User") return { name: "User", kind: "user", role: "person" };
  if (responder === null && node.parent) return { name: node.parent.name, kind: "task", role: "asks" };
  if (responder === null) return { name: parts.name || (parts.sender === "User" ? "User" : parts.sender), kind: "user", role: "begins" };
  return { name: responder, kind: "task", role: "sub-task" };
}

// The message in one line.
export function outline(parts) {
  const text = parts.text || parts.results[0]?.text || parts.tools.map((tool) => tool.name).join(", ");
  return text.trimStart().slice(0, 300).split("\n", 1)[0];
}
