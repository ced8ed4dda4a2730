import { count } from "../../lib/format.js";
import { useListKeys } from "../../lib/list_keys.js";
import { useKeys } from "../../lib/keys.js";
import { html, useMemo, useRef, useState } from "../../lib/preact.js";
import { setQuery } from "../../lib/router.js";
import { Empty, Icon, VirtualList, toast } from "../../parts/index.js";
import { shown } from "./conversation.js";
import { Entry } from "./entries.js";

const ESTIMATE = 84;
const keyOf = (entry) => entry.key;

function MessageActions({ entry, onFork }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(entry.document.content ?? "");
      toast("The text is copied.");
    } catch {
      toast("The browser did not allow copying; select the text instead.", "bad");
    }
  };
  return html`<span class="message-actions">
    <button type="button" class="icon-button" title="Copy the text" aria-label="Copy the text of message ${entry.event}" onClick=${copy}><${Icon} name="copy" size="14" /></button>
    ${onFork && entry.kind === "message" && html`<button type="button" class="icon-button" title="Fork the run here" aria-label="Fork the run at message ${entry.event}" onClick=${() => onFork(entry)}><${Icon} name="fork" size="14" /></button>`}
  </span>`;
}

// The rows to show: the conversation, then what happens now.
function rowsOf(picture, node, rejected, isHeld) {
  const rows = shown(picture.entries, { node, rejected });
  const { asked } = picture;
  // Why it is held is told above.
  if (picture.ended || !asked || asked.isParked || (isHeld && asked.responder !== "User")) return rows;
  const at = picture.nodes.findLast((one) => one.path === picture.asked.task && !one.endedAt) ?? null;
  if (node && at && (at.no < node.no || at.no > node.last)) return rows;
  const now = picture.live
    ? { key: "live", kind: "live", live: picture.live, asked: picture.asked, node: at }
    : { key: "asked", kind: "asked", asked: picture.asked, node: at };
  return [...rows, now];
}

export function Transcript({ picture, node, rejected, isOver, isHeld, onFork, stream, problem }) {
  const rows = useMemo(() => rowsOf(picture, node, rejected, isHeld), [picture, node, rejected, isHeld]);
  const rejectedCount = useMemo(() => picture.entries.filter((entry) => entry.kind === "rejected").length, [picture.entries]);
  // Of a run that has ended the beginning is read first.
  const [follow, setFollow] = useState(!picture.ended && !isOver);
  const frame = useRef(null);
  const [active, setActive] = useListKeys({ items: rows, itemKey: keyOf, noun: "message", onOpen: (index) => rows[index]?.kind === "message" && onFork?.(rows[index]) });
  const scroller = () => frame.current?.querySelector(".virtual-list");
  const toEnd = () => {
    setFollow(true);
    setActive(null);
    const list = scroller();
    // Heights of rows that were never seen are guesses; a second look has measured them.
    const down = (times) => {
      if (!list) return;
      list.scrollTop = list.scrollHeight;
      if (times) requestAnimationFrame(() => down(times - 1));
    };
    down(4);
  };
  const toStart = () => {
    setFollow(false);
    const list = scroller();
    if (list) list.scrollTop = 0;
  };
  useKeys(
    [
      { keys: ["G", "End"], does: "Newest message", run: toEnd },
      { keys: ["g g", "Home"], does: "First message", run: toStart },
    ],
    [],
  );
  return html`<div class="transcript" ref=${frame}>
    <div class="run-toolbar">
      <span class="soft small" aria-live="off">${count(rows.length)} ${rows.length === 1 ? "row" : "rows"}${node && html` of <strong>${node.name}</strong>`}</span>
      ${node && html`<button type="button" class="link small" onClick=${() => setQuery({ task: null })}>Show all tasks</button>`}
      <${StreamState} stream=${stream} problem=${problem} ended=${picture.ended} />
      <span class="run-toolbar-end">
        ${(rejectedCount > 0 || rejected) && html`<label class="toggle"><input type="checkbox" checked=${rejected} onChange=${(event) => setQuery({ rejected: event.currentTarget.checked ? "1" : null })} /> Rejected answers (${rejectedCount})</label>`}
        ${!isOver && html`<label class="toggle"><input type="checkbox" checked=${follow} onChange=${(event) => (event.currentTarget.checked ? toEnd() : setFollow(false))} /> Follow</label>`}
        <button type="button" onClick=${toStart}>Start</button>
        <button type="button" onClick=${toEnd}><${Icon} name="down" size="14" />End</button>
      </span>
    </div>
    ${rows.length
      ? html`<${VirtualList} class="messages" label="Messages" items=${rows} itemKey=${keyOf} estimate=${ESTIMATE} active=${active} follow=${follow}
          render=${(entry, index) => html`<${Entry} entry=${entry} active=${index === active} actions=${entry.document && html`<${MessageActions} entry=${entry} onFork=${onFork} />`} />`} />`
      : html`<${Empty} icon="clock" title="No message yet" hint="The run has not begun. Its messages appear here as they come." />`}
  </div>`;
}

const STREAMS = {
  connecting: { tone: "quiet", text: "Connecting…" },
  live: { tone: "good", text: "Live" },
  lost: { tone: "warning", text: "Connection lost; trying again" },
};

function StreamState({ stream, problem, ended }) {
  if (ended || stream === "ended") {
    return problem ? html`<span class="badge bad" role="status">${problem.title ?? "The stream ended"}</span>` : null;
  }
  const { tone, text } = STREAMS[stream];
  return html`<span class="badge ${tone}" role="status"><span class="badge-sign" aria-hidden="true" />${text}</span>`;
}
