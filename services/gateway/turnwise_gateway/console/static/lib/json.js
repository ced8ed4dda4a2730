// JSON as the record has it: a whole number that a JavaScript number cannot hold, such as an id of 64 bits, is a BigInt.
// Browsers that do not tell a number's own text read it as `JSON.parse` does.
const LONG = /\d{16}/;

function exact(_key, value, context) {
  const source = context?.source ?? "";
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? BigInt(source) : value;
}

function written(_key, value) {
  if (typeof value !== "bigint") return value;
  return JSON.rawJSON ? JSON.rawJSON(String(value)) : Number(value);
}

export function parseJson(text) {
  // The other way takes several times as long.
  return LONG.test(text) ? JSON.parse(text, exact) : JSON.parse(text);
}

export function writeJson(value, indent) {
  return JSON.stringify(value, written, indent);
}
