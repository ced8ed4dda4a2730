import { untilAnswered } from "../../lib/attempts.js";
import { count } from "../../lib/format.js";
import { writeJson } from "../../lib/json.js";
import { useSearchKey } from "../../lib/keys.js";
import { useListKeys } from "../../lib/list_keys.js";
import { html, useEffect, useMemo, useRef, useState } from "../../lib/preact.js";
import { Empty, Failure, Field, Icon, Json, Loading, PlainText, Time, VirtualList } from "../../parts/index.js";
import { eventPage } from "./event_reader.js";
import { saveEvents } from "./export.js";

// A page, and one of a search, which looks for more until so many are found.
const PAGE = 100;
const SEARCHED = 1000;
const ENOUGH = 50;
// A run that is busy has several a second.
const PAUSE_MS = 700;

// The events that were read so far, newest first: the newest when the tab was opened, then older ones as they are wanted,
// and the new ones while the run has some.
class EventList {
  constructor(runId, show) {
    this.runId = runId;
    this.show = show;
    this.aborting = new AbortController();
    this.events = [];
    this.last = 0;
    this.isLooking = false;
    this.isAdding = false;
  }

  get hasOlder() {
    return this.events.at(-1)?.seq > 1;
  }

  tell(problem = null) {
    if (this.aborting.signal.aborted) return;
    this.show({ events: this.events, hasOlder: this.hasOlder, loading: this.isAdding || !(this.events.length || problem), problem });
  }

  page(wanted) {
    const { signal } = this.aborting;
    return untilAnswered(() => eventPage(this.runId, { ...wanted, signal }), { signal, onProblem: (problem) => this.tell(problem) });
  }

  // Up to the event `last`, and to those that the run has meanwhile.
  async follow(last) {
    this.last = Math.max(this.last, last);
    if (this.isLooking) return;
    this.isLooking = true;
    try {
      while (!this.aborting.signal.aborted && (!this.events.length || this.events[0].seq < this.last)) {
        const newest = this.events[0]?.seq;
        const { items, last_event: end } = await this.page(newest ? { after: newest, limit: SEARCHED } : { limit: PAGE });
        this.events = [...items.reverse(), ...this.events];
        this.tell();
        // A page of large events has fewer than were asked for.
        if (!(this.events[0]?.seq < end)) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    } catch (problem) {
      this.tell(problem);
    } finally {
      this.isLooking = false;
    }
  }

  async again() {
    this.tell();
    await this.follow(this.last);
    await this.addOlder(PAGE);
  }

  async addOlder(limit) {
    if (this.isAdding || !this.hasOlder) return;
    this.isAdding = true;
    this.tell();
    let problem = null;
    try {
      const { items } = await this.page({ before: this.events.at(-1).seq, limit });
      this.events = [...this.events, ...items.reverse()];
    } catch (failed) {
      problem = failed;
    }
    this.isAdding = false;
    this.tell(problem);
  }
}

function useEvents(runId, seq) {
  const [state, setState] = useState({ events: [], hasOlder: false, loading: true, problem: null });
  const list = useRef(null);
  useEffect(() => {
    list.current = new EventList(runId, setState);
    return () => list.current.aborting.abort();
  }, [runId]);
  useEffect(() => void list.current.follow(seq), [runId, seq]);
  return { ...state, retry: () => list.current.again(), addOlder: (limit) => list.current.addOlder(limit) };
}

const keyOf = (event) => event.seq;

function matches(event, wanted) {
  return event.type.includes(wanted) || (event.task ?? "").toLowerCase().includes(wanted) || writeJson(event.data ?? "").toLowerCase().includes(wanted);
}

function note({ events, hasOlder, loading }, found, wanted) {
  const read = hasOlder ? `newest ${count(events.length)} of ${count(events[0].seq)}` : `${count(events.length)} events`;
  return `${wanted ? `${count(found.length)} found in the ${read}` : hasOlder ? `The ${read}` : read}${loading ? ", loading…" : ""}`;
}

function Event({ event, isOpen, active, onToggle }) {
  return html`<div class="event ${active ? "marked" : ""}">
    <button type="button" class="event-line" aria-expanded=${isOpen ? "true" : "false"} onClick=${onToggle}>
      <span class="number faint">${event.seq}</span><span class="event-type">${event.type}</span>
      <span class="ellipsis soft"><${PlainText} inline text=${[event.task, event.data?.responder, event.data?.tool].filter(Boolean).join(" · ")} limit=${120} /></span>
      <span class="number faint"><${Time} iso=${event.at} /></span>
    </button>
    ${isOpen && html`<div class="event-body"><${Json} value=${event} open=${2} /></div>`}
  </div>`;
}

export function Events({ run, seq }) {
  const list = useEvents(run.id, seq);
  const { events, hasOlder, loading, problem, retry, addOlder } = list;
  const [words, setWords] = useState("");
  const [goal, setGoal] = useState(ENOUGH);
  const [open, setOpen] = useState(() => new Set());
  const [saving, setSaving] = useState({ busy: false, problem: null });
  const wanted = words.trim().toLowerCase();
  const found = useMemo(() => (wanted ? events.filter((event) => matches(event, wanted)) : events), [events, wanted]);
  const isSearching = Boolean(wanted) && found.length < goal && hasOlder && !problem;
  useEffect(() => {
    if (isSearching && !loading) addOlder(SEARCHED);
  }, [isSearching, loading, events]);
  const more = () => (wanted ? setGoal(found.length + ENOUGH) : addOlder(PAGE));
  useSearchKey();
  const toggle = (number) => {
    const next = new Set(open);
    if (!next.delete(number)) next.add(number);
    setOpen(next);
  };
  const [active] = useListKeys({ items: found, itemKey: keyOf, noun: "event", onOpen: (index) => toggle(found[index].seq) });
  const download = async () => {
    setSaving({ busy: true, problem: null });
    try {
      await saveEvents(run.id);
      setSaving({ busy: false, problem: null });
    } catch (failed) {
      setSaving({ busy: false, problem: failed });
    }
  };
  return html`<div class="events">
    <div class="run-toolbar">
      <${Field} type="search" hideLabel label="Search in events" placeholder="Search in events" value=${words} onInput=${(event) => (setWords(event.currentTarget.value), setGoal(ENOUGH))} />
      <span class="soft small" role="status">${events.length > 0 && note(list, found, wanted)}</span>
      <span class="run-toolbar-end"><button type="button" disabled=${saving.busy} onClick=${download}><${Icon} name="download" size="14" />JSONL</button></span>
    </div>
    ${(problem ?? saving.problem) && html`<${Failure} problem=${problem ?? saving.problem} retry=${problem ? retry : download} compact />`}
    ${found.length > 0 && html`<${VirtualList} class="event-list" label="Events" items=${found} itemKey=${keyOf} estimate=${32} active=${active} onEnd=${more}
      render=${(event, index) => html`<${Event} event=${event} isOpen=${open.has(event.seq)} active=${index === active} onToggle=${() => toggle(event.seq)} />`} />`}
    ${!found.length && (loading || isSearching ? html`<${Loading} />` : html`<${Empty} icon="search" title="No such event" hint="Search for a part of its type, such as turn.rejected, or of its data." />`)}
  </div>`;
}
