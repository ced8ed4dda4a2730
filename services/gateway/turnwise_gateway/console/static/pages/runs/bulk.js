// Cancelling and retrying: runs that were chosen one by one, or all that match the filters.
import { api, newIdempotencyKey } from "../../lib/api.js";
import { count } from "../../lib/format.js";
import { runPath } from "../../lib/live.js";
import { html } from "../../lib/preact.js";
import { confirm, toast } from "../../parts/index.js";

const AT_ONCE = 4;
const DOING = {
  cancel: { verb: "Cancel", done: "cancelled", body: "They end as soon as their workers notice; their messages are kept. This cannot be undone." },
  retry: { verb: "Retry", done: "retried", body: "Each continues from where it failed." },
};

export function runsText(number) {
  return number === 1 ? "1 run" : `${count(number)} runs`;
}

// Which of these runs the action can be done to.
export function suited(action, runs) {
  return runs.filter((run) => (action === "retry" ? run.status === "failed" : !run.finished_at));
}

function tell(action, changed, refused) {
  const { done } = DOING[action];
  if (!refused.length) return toast(`${runsText(changed)} ${done}.`, "good");
  const reasons = [...new Set(refused.map((one) => one.detail))];
  return toast(`${runsText(changed)} ${done}, ${refused.length} refused: ${reasons[0]}${reasons.length > 1 ? " …" : ""}`, changed ? "quiet" : "bad");
}

async function each(action, runs) {
  const waiting = runs.map((run) => run.id);
  const refused = [];
  let changed = 0;
  const worker = async () => {
    for (let id = waiting.shift(); id; id = waiting.shift()) {
      try {
        await api.post(runPath(id, `/${action}`), undefined, { idempotencyKey: newIdempotencyKey() });
        changed += 1;
      } catch (problem) {
        refused.push({ run: id, detail: problem.detail });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { changed, refused };
}

// Whether a person agreed, and it was done.
export async function changeChosen(action, runs) {
  const { verb, body } = DOING[action];
  const isAgreed = await confirm({ title: `${verb} ${runsText(runs.length)}?`, body, action: `${verb} ${runsText(runs.length)}`, danger: action === "cancel" });
  if (!isAgreed) return false;
  const { changed, refused } = await each(action, runs);
  tell(action, changed, refused);
  return true;
}

// Do the work page by page. Returns the time of the first page: later runs were not looked at.
async function pages(action, filter, work) {
  let cursor;
  let until = filter.created_before;
  do {
    const page = await api.post(`v1/runs/${action}`, { filter: { ...filter, created_before: until }, cursor, limit: 500, ...work.body });
    cursor = page.next_cursor;
    until = page.created_before;
    work.page(page);
  } while (cursor);
  return until;
}

// The same for all runs that match, also those that are not loaded.
export async function changeMatching(action, filter) {
  const { verb, body } = DOING[action];
  let matched = 0;
  const until = await pages(action, filter, { body: { dry_run: true }, page: (page) => (matched += page.matched) });
  if (!matched) {
    toast(`No run that matches can be ${DOING[action].done}.`);
    return false;
  }
  const conditions = Object.entries(filter).filter(([, value]) => value);
  const told = html`<p>All that match ${conditions.map(([name, value], index) => html`${index > 0 && ", "}<code>${name}</code> ${value}`)}, also those that are not in sight. ${body}</p>`;
  if (!(await confirm({ title: `${verb} ${runsText(matched)}?`, body: told, action: `${verb} ${runsText(matched)}`, danger: action === "cancel" }))) return false;
  let changed = 0;
  const refused = [];
  // What was counted is what is changed: no run that was accepted since.
  await pages(action, { ...filter, created_before: until }, {
    body: {},
    page: (page) => {
      changed += page.changed;
      refused.push(...page.refused);
    },
  });
  tell(action, changed, refused);
  return true;
}
