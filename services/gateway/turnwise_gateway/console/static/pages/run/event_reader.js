// The events of a run that there are, a page at a time; `lib/live.js` follows those that are still to come.
import { api } from "../../lib/api.js";
import { runPath } from "../../lib/live.js";

const PAGE = 500;

// A page as the API has it, oldest first: the newest events, or those after or before a number.
export function eventPage(runId, { after, before, limit = PAGE, signal } = {}) {
  return api.get(runPath(runId, "/history"), { after, before, limit }, { signal });
}

// The events after number `after`, up to `last` or those that there are now, a page at a time.
export async function* eventsSoFar(runId, { after = 0, last = null, signal } = {}) {
  let end = last;
  let seq = after;
  while (end === null || seq < end) {
    const page = await eventPage(runId, { after: seq, limit: end === null ? PAGE : Math.min(PAGE, end - seq), signal });
    end ??= page.last_event;
    const found = page.items.filter((event) => event.seq <= end);
    if (!found.length) return;
    yield found;
    seq = found.at(-1).seq;
  }
}
