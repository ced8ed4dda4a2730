// The number of what waits for a person. One poll serves all who show it: the title, the navigation, the inbox.
import { api } from "./api.js";
import { useOwner } from "./caller.js";
import { notifies, notify } from "./notifications.js";
import { useEffect, useState } from "./preact.js";
import { go } from "./router.js";
import { setWaiting } from "./title.js";

// While no one looks at the tab it is asked for only if a notification would tell of it.
const HIDDEN_SECONDS = 15;
// A key that may not read runs does not learn to.
const REFUSED_SECONDS = 120;

const changes = new EventTarget();
const wanted = new Map();
let now = null;
let owner = null;
let timer = null;
let isAsking = false;

export function total(count) {
  return count ? count.questions + count.parked : 0;
}

function seconds(problem) {
  if (problem?.status === 403) return REFUSED_SECONDS;
  return document.hidden ? HIDDEN_SECONDS : Math.max(2, Math.min(...wanted.values()));
}

function tell(count) {
  const before = now;
  now = count;
  setWaiting(total(count));
  changes.dispatchEvent(new Event("change"));
  const isNew = before && count.latest_at && (!before.latest_at || count.latest_at > before.latest_at);
  if (isNew && document.hidden && notifies()) {
    const number = total(count);
    notify("Turnwise", number === 1 ? "A run waits for a person." : `${number} questions and calls wait for a person.`, () => go("inbox"));
  }
}

async function look() {
  clearTimeout(timer);
  if (isAsking || !wanted.size || (document.hidden && !notifies())) return;
  isAsking = true;
  let problem = null;
  try {
    const count = await api.get("v1/inbox/count");
    if (wanted.size) tell(count);
  } catch (error) {
    // The number from before stays; the page that is shown tells of a server that is away.
    problem = error;
  } finally {
    isAsking = false;
    if (wanted.size) timer = setTimeout(look, seconds(problem) * 1000);
  }
}

document.addEventListener("visibilitychange", look);

// Ask at once: something was answered here.
export const lookAgain = look;

// The number of one caller is none of the next one's.
function belongTo(caller) {
  if (owner === caller) return;
  owner = caller;
  now = null;
}

// `{questions, parked, latest_at}`, at most so many seconds old; null before it is known.
export function useInboxCount(every = 6) {
  belongTo(useOwner());
  const [count, setCount] = useState(now);
  useEffect(() => {
    const me = {};
    const follow = () => setCount(now);
    wanted.set(me, every);
    changes.addEventListener("change", follow);
    look();
    return () => {
      wanted.delete(me);
      changes.removeEventListener("change", follow);
      if (wanted.size) return;
      clearTimeout(timer);
      setWaiting(0); // whoever signed out has no inbox
    };
  }, [every]);
  return count;
}
