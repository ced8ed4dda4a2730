// What a person has begun to write, by item or form: kept while the console is open, and nowhere else.
import { useOwner } from "./caller.js";
import { useState } from "./preact.js";

const drafts = new Map();
let owner = null;

// They are dropped where someone else is signed in.
export function ownDrafts(caller) {
  if (owner !== caller) drafts.clear();
  owner = caller;
}

export function draftOf(id) {
  return drafts.get(id) ?? {};
}

export function hasDraft(id) {
  const { text, result } = draftOf(id);
  return Boolean(text?.trim() || result?.trim());
}

export function dropDraft(id) {
  drafts.delete(id);
}

// The draft of an item, and a function that changes some of its fields.
export function useDraft(id) {
  const [, again] = useState(0);
  const change = (fields) => {
    drafts.set(id, { ...draftOf(id), ...fields });
    again((number) => number + 1);
  };
  return [draftOf(id), change];
}

// The draft of a form that could not be sent after its page was left: `{draft, keep(fields), drop()}`. The next such form
// begins with it. `drop()` leaves what was kept since, which this form does not show.
export function useUnsent(id) {
  ownDrafts(useOwner());
  const [first] = useState(() => ({ id, draft: draftOf(id) }));
  const keep = (fields) => drafts.set(first.id, fields);
  const drop = () => drafts.get(first.id) === first.draft && drafts.delete(first.id);
  return { draft: first.draft, keep, drop };
}
