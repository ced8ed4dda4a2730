import { everyItem } from "../lib/api.js";
import { useOwner } from "../lib/caller.js";
import { dropDraft, hasDraft, ownDrafts } from "../lib/drafts.js";
import { useData } from "../lib/hooks.js";
import { lookAgain, total, useInboxCount } from "../lib/inbox.js";
import { useKeys } from "../lib/keys.js";
import { html, useEffect, useRef, useState } from "../lib/preact.js";
import { go, link } from "../lib/router.js";
import { Empty, Failure, Loading, LoadMore, Page, toast } from "../parts/index.js";
import { InboxItem, cameAt } from "./inbox/item.js";
import { NotifyButton } from "./inbox/notify_button.js";

// Shown at first, and added at a click.
const PAGE = 100;
// An ask that was resolved may be parked anew, with the same id.
const stayOf = (item) => `${item.id} ${cameAt(item)}`;
const byTime = (one, other) => cameAt(one).localeCompare(cameAt(other));

// The open items, and those that others have decided while this person was writing, which stay to be looked at.
function useItems() {
  const now = useInboxCount(2);
  const known = useRef(new Map());
  const [most, setMost] = useState(PAGE);
  const [left, setLeft] = useState(() => new Set());
  const { data, error, loading, reload } = useData(
    ({ signal }) => everyItem("v1/inbox", { limit: PAGE }, { most, signal }),
    [now?.questions, now?.parked, now?.latest_at, most],
  );
  const open = (data ?? []).filter((item) => !left.has(stayOf(item)));
  const ids = new Set(open.map((item) => item.id));
  const gone = data ? [...known.current.values()].filter((item) => !ids.has(item.id) && !left.has(stayOf(item)) && hasDraft(item.id)) : [];
  const items = [...open, ...gone.map((item) => ({ ...item, gone: true }))].sort(byTime);
  if (data) known.current = new Map(items.map((item) => [item.id, item]));
  const leave = (item) => {
    dropDraft(item.id);
    setLeft((before) => new Set(before).add(stayOf(item)));
    lookAgain();
  };
  const more = () => setMost(most + PAGE);
  return { items, waiting: total(now), isKnown: data !== null, isCut: data?.length >= most, error, loading, reload, leave, more };
}

// What waits for people, oldest first, answered in place.
export default function InboxPage() {
  ownDrafts(useOwner());
  const { items, waiting, isKnown, isCut, error, loading, reload, leave, more } = useItems();
  const [selected, setSelected] = useState(null);
  const [asks, setAsks] = useState(0);
  const list = useRef(null);
  const at = Math.max(0, items.findIndex((item) => item.id === selected));
  const current = items[at]?.id ?? null;
  const place = useRef(0);
  const shown = useRef(null);
  shown.current = { items, current };
  // Where the selected one has left, the next one takes its place.
  useEffect(() => {
    if (selected !== null && !items.some((item) => item.id === selected)) setSelected(items[Math.min(place.current, items.length - 1)]?.id ?? null);
    else if (current !== null) place.current = at;
  });

  const select = (index) => {
    const item = items[Math.max(0, Math.min(items.length - 1, index))];
    if (!item) return;
    setSelected(item.id);
    setAsks(0);
    list.current.querySelector(`[data-item="${CSS.escape(item.id)}"] .inbox-head`).focus();
  };
  const write = (item) => {
    setSelected(item.id);
    setAsks((number) => number + 1);
  };
  useKeys(
    [
      { keys: ["j"], does: "Next item", run: () => select(document.activeElement?.closest("[data-item]") ? at + 1 : at) },
      { keys: ["k"], does: "Previous item", run: () => select(at - 1) },
      { keys: ["Enter"], does: "Answer the item", run: () => items[at] && write(items[at]) },
      { keys: ["o"], does: "Open its run", run: () => items[at] && go("runs", [items[at].run]) },
      { keys: ["Ctrl+Enter"], does: "Send, while writing", run: () => {} },
    ],
    [current, items.length],
  );

  const done = (item) => (problem) => {
    if (problem) toast(`Too late: ${problem.detail}`, "warning");
    else toast(item.kind === "parked" ? "Resolved." : "Answered.", "good");
    // As the page is now: the answer may have been under way for a while.
    const { items, current } = shown.current;
    const at = items.findIndex((one) => one.id === item.id);
    const next = items[at + 1] ?? items[at - 1];
    leave(item);
    if (current !== item.id) return; // the person is at another one by now
    if (next) write(next);
    else setSelected(null);
  };
  return html`<${Page} title="Inbox" note=${isKnown && html`<span role="status">${waiting === 0 ? "Nothing waits" : waiting === 1 ? "1 waits" : `${waiting} wait`}</span>`} actions=${html`<${NotifyButton} />`}>
    ${error && html`<${Failure} problem=${error} retry=${reload} compact=${isKnown} />`}
    ${!isKnown && loading && html`<${Loading} />`}
    ${isKnown &&
    !items.length &&
    html`<${Empty} icon="inbox" title="Nothing waits for a person" hint="Questions of tasks to a human appear here, and calls of tools of which no one knows whether they happened."
      action=${html`<a class="button" href=${link("runs", [], { status: "waiting" })}>Runs that wait</a>`} />`}
    <ol class="inbox" ref=${list} aria-label="What waits, oldest first">
      ${items.map(
        (item) => html`<${InboxItem} key=${item.id} item=${item} selected=${item.id === current} asks=${item.id === selected ? asks : 0}
          onSelect=${write} onDone=${done(item)} onDismiss=${() => leave(item)} />`,
      )}
    </ol>
    <${LoadMore} paged=${{ hasMore: isCut && waiting > items.length, loading, more }} />
  <//>`;
}
