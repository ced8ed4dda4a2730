// What a person has begun to write, by item: kept while the console is open, and nowhere else.
import { useState } from "../../lib/preact.js";

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
