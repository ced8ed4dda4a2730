// The list of runs, kept up to date: pages are added at its end, and all that is loaded is looked at again in turn.
import { api } from "../../lib/api.js";
import { useCallback, useLayoutEffect, useRef, useState } from "../../lib/preact.js";
import { poll } from "../../lib/live.js";

// Runs of the newest page, which is asked for again and again, as `start.js` asks for it first: a screen full.
const FIRST = 30;
const PAGE = 50;
const EVERY = 3;
// A search reads runs and their messages, so it is repeated rarely.
const EVERY_SEARCH = 20;
// Pages that are asked for at once, of a search that finds little or of runs that came in since the last look.
const MOST = 10;

// The list with a page's runs in place of those that it covers: the ones older than `after`, down to its last one. Ids
// begin with their time, so they are in the order of the list.
export function merged(list, page, after) {
  const lowest = page.next_cursor ? page.items.at(-1)?.id : "";
  if (lowest === undefined) return list;
  const newer = after === null ? [] : list.filter((run) => run.id >= after);
  const older = list.filter((run) => run.id < lowest);
  return [...newer, ...page.items, ...older];
}

class LiveList {
  constructor(parameters, signal, show) {
    this.parameters = parameters;
    this.signal = signal;
    this.show = show;
    this.runs = [];
    // Of each page after the first: its cursor, and the last run before it.
    this.pages = [];
    this.next = null;
    this.turn = 0;
    this.busy = false;
    this.last = Promise.resolve();
  }

  // One thing at a time: each builds on the list as the one before has left it.
  inTurn(work) {
    const done = this.last.then(work);
    this.last = done.catch(() => {});
    return done;
  }

  page(cursor) {
    return api.get("v1/runs", { ...this.parameters(), limit: cursor ? PAGE : FIRST, cursor }, { signal: this.signal });
  }

  tell(more) {
    if (!this.signal.aborted) this.show({ runs: this.runs, more: this.next !== null, ...more });
  }

  look() {
    return this.inTurn(() => this.newest());
  }

  // The newest runs. Those that were newest before have to follow them without a gap.
  async newest() {
    const before = this.runs[0]?.id ?? null;
    let page = await this.page(null);
    let fresh = page.items;
    for (let number = 1; before !== null && page.next_cursor && !(fresh.at(-1)?.id <= before) && number < MOST; number += 1) {
      page = await this.page(page.next_cursor);
      fresh = [...fresh, ...page.items];
    }
    const whole = { items: fresh, next_cursor: page.next_cursor };
    const meets = before !== null && (!page.next_cursor || fresh.at(-1)?.id <= before);
    if (meets && this.runs.length > fresh.length) {
      this.runs = merged(this.runs, whole, null);
    } else {
      this.runs = fresh;
      this.next = page.next_cursor;
      this.pages = [];
    }
    if (this.pages.length) await this.lookFurther();
    this.tell({ loading: false, error: null });
    if (fresh.length < FIRST && this.next) {
      await this.more();
      this.tell({});
    }
  }

  // One of the other pages, each in its turn: runs there change as well.
  async lookFurther() {
    this.turn = (this.turn + 1) % this.pages.length;
    const { cursor, after } = this.pages[this.turn];
    const page = await this.page(cursor);
    this.runs = merged(this.runs, page, after);
  }

  async loadMore() {
    if (this.busy || this.next === null) return;
    this.busy = true;
    this.tell({ adding: true });
    try {
      await this.inTurn(() => this.more());
    } finally {
      this.busy = false;
      this.tell({ adding: false });
    }
  }

  // The next page; of a search as many as it takes to find something.
  async more() {
    const count = this.runs.length;
    for (let number = 0; this.next !== null && this.runs.length < count + PAGE / 2 && number < MOST; number += 1) {
      const cursor = this.next;
      const after = this.runs.at(-1)?.id ?? null;
      const page = await this.page(cursor);
      this.runs = [...this.runs, ...page.items.filter((run) => after === null || run.id < after)];
      this.next = page.next_cursor;
      if (after !== null && page.items.length) this.pages.push({ cursor, after });
    }
  }
}

// `{runs, more, loading, adding, error, loadMore, reload}` of the runs that match; `parameters()` is asked each time.
export function useLiveList(parameters, key) {
  const [state, setState] = useState({ runs: [], more: false, loading: true, adding: false, error: null });
  const list = useRef(null);
  const failed = (error) => error.name !== "AbortError" && setState((before) => ({ ...before, loading: false, error }));

  // Before the paint: the first answer may be there already.
  useLayoutEffect(() => {
    const aborting = new AbortController();
    const here = new LiveList(parameters, aborting.signal, (news) => setState((before) => ({ ...before, ...news })));
    list.current = here;
    setState((before) => ({ ...before, loading: true, error: null }));
    const stop = poll(() => here.look().catch(failed), parameters().q ? EVERY_SEARCH : EVERY);
    return () => {
      stop();
      aborting.abort();
    };
  }, [key]);

  const loadMore = useCallback(() => list.current.loadMore().catch(failed), []);
  const reload = useCallback(() => list.current.look().catch(failed), []);
  return { ...state, loadMore, reload };
}
