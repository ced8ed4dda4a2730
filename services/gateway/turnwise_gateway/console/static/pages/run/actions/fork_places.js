// Where a fork may continue. Nothing here touches the page.

// The number of the last event before the message that asked its author; null for one whose author was not asked.
export function whereAsked(events, entry) {
  const found = events.findLast((event) => event.seq < entry.event && (event.type === "turn.asked" || event.type === "human.asked") && event.task === entry.node.path);
  return found && (found.data?.responder ?? "User") === entry.responder ? found.seq : null;
}

// `[{id, title, hint, at, edits}]` for a message; `asked` is where its author was asked.
export function placesOf(entry, asked) {
  const after = { id: "after", title: "After this message", hint: "It is kept; the next answer is asked for again.", at: entry.event, edits: false };
  if (entry.responder === null && entry.node.depth === 0) {
    return [{ id: "edit", title: "With another first message", hint: "The run begins anew.", at: 1, edits: true }, after];
  }
  if (asked === null) return [after];
  const edit = { id: "edit", title: "With an edited message", hint: "Your text stands in place of this answer.", at: asked, edits: true };
  const again = { id: "again", title: entry.responder === "User" ? "Ask the person again" : "Ask again", hint: "Everything before this message is kept, and its author is asked anew.", at: asked, edits: false };
  return [edit, again, after];
}
