// Numbers, times and states as people read them. Everything here returns text.
//
// Without `Intl`: its formatters take longer to make than all other work of the first page.
const SHORT = [
  ["T", 1e12],
  ["B", 1e9],
  ["M", 1e6],
  ["K", 1e3],
];

// A hair more, so that halves are rounded up as people do it: 0.0605 is stored as a little less than that.
function hairMore(n) {
  return n * (1 + 2 ** -51);
}

// A decimal text with a comma between thousands.
function grouped(text) {
  const [whole, ...fraction] = text.split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...fraction].join(".");
}

// Three digits and a unit: "12.3K", "0.42".
export function short(n) {
  // What would be rounded to 1000 of a unit is 1 of the next.
  const [unit, size] = SHORT.find(([, one]) => Math.abs(n) >= one * 0.9995) ?? ["", 1];
  return `${Number(hairMore(n / size).toPrecision(3))}${unit}`;
}

// US dollars, from the API's decimal text: cents, and two digits more where there is less than a dollar.
export function money(text) {
  if (text === null || text === undefined) return "–";
  const value = Number(text);
  if (!Number.isFinite(value)) return String(text);
  if (value === 0) return "$0";
  const size = Math.abs(value);
  if (size < 0.0001) return value > 0 ? "< $0.0001" : "> -$0.0001";
  const digits = size < 0.01 ? 4 : size < 1 ? 3 : 2;
  const [whole, fraction] = hairMore(size).toFixed(digits).split(".");
  return `${value < 0 ? "-" : ""}$${grouped(whole)}.${fraction.replace(/0+$/, "").padEnd(2, "0")}`;
}

export function count(n) {
  if (n === null || n === undefined) return "–";
  return grouped(String(Number.isInteger(n) ? n : Number(hairMore(n).toFixed(3))));
}

export function tokens(n) {
  return n >= 10_000 ? short(n) : count(n);
}

export function bytes(n) {
  if (n < 1000) return `${n} B`;
  if (n < 1_000_000) return `${(n / 1000).toPrecision(3)} KB`;
  return `${(n / 1_000_000).toPrecision(3)} MB`;
}

const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];

// The two largest units: "2 h 5 min", "4.2 s", "35 ms".
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 0) return "0 s";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  let rest = Math.round(seconds);
  const at = UNITS.findIndex(([, size]) => rest >= size);
  const [unit, size] = UNITS[at];
  const first = `${Math.floor(rest / size)} ${unit}`;
  rest %= size;
  const next = UNITS[at + 1];
  return next && rest >= next[1] ? `${first} ${Math.floor(rest / next[1])} ${next[0]}` : first;
}

// Seconds between two times of the API; until now where the second is missing.
export function between(from, to) {
  return from ? (new Date(to ?? Date.now()) - new Date(from)) / 1000 : null;
}

// In the reader's zone: the time alone for today, the date with it for another day, the year where it differs.
export function time(iso) {
  if (!iso) return "–";
  const at = new Date(iso);
  const now = new Date();
  const clock = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
  if (at.toDateString() === now.toDateString()) return clock;
  const day = { month: "short", day: "numeric" };
  if (at.getFullYear() !== now.getFullYear()) day.year = "numeric";
  return `${at.toLocaleDateString([], day)}, ${clock}`;
}

// "just now", "3 min ago", "in 2 h".
export function ago(iso) {
  if (!iso) return "–";
  const seconds = (Date.now() - new Date(iso)) / 1000;
  const size = Math.abs(seconds);
  if (size < 5) return "just now";
  const [unit, length] = UNITS.find(([, one]) => size >= one);
  const text = `${Math.floor(size / length)} ${unit}`;
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

const STATUS = {
  queued: { text: "Queued", tone: "quiet" },
  running: { text: "Running", tone: "active" },
  waiting: { text: "Waiting", tone: "warning" },
  completed: { text: "Completed", tone: "good" },
  failed: { text: "Failed", tone: "bad" },
  cancelled: { text: "Cancelled", tone: "quiet" },
  // Of processes.
  alive: { text: "Alive", tone: "good" },
  deaf: { text: "Deaf", tone: "bad" },
  draining: { text: "Draining", tone: "warning" },
  dead: { text: "Dead", tone: "quiet" },
};

// `{text, tone}` of a status; a newer server may have one that is not known here.
export function status(name) {
  return STATUS[name] ?? { text: name, tone: "quiet" };
}

// The start of an id, long enough to tell two apart: ids begin with their time.
export function shortId(id) {
  return id.length > 16 ? `${id.slice(0, 4)}…${id.slice(-8)}` : id;
}
