// The sessions that a caller began or opened in this tab of the browser: their names and tasks, and nothing that was said.
const MOST = 20;

const nameFor = (owner) => `turnwise.sessions ${owner}`;

export function remembered(owner) {
  try {
    const found = JSON.parse(sessionStorage.getItem(nameFor(owner)) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one?.session === "string" && typeof one?.task === "string") : [];
  } catch {
    return [];
  }
}

// Put a session first.
export function remember(owner, task, session) {
  const others = remembered(owner).filter((one) => one.session !== session);
  try {
    sessionStorage.setItem(nameFor(owner), JSON.stringify([{ task, session }, ...others].slice(0, MOST)));
  } catch {
    // Storage is switched off: the address still has the session.
  }
}

export function forget(owner, session) {
  try {
    sessionStorage.setItem(nameFor(owner), JSON.stringify(remembered(owner).filter((one) => one.session !== session)));
  } catch {
    // As above.
  }
}

export function newSession() {
  const bytes = crypto.getRandomValues(new Uint8Array(9));
  return `chat-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
