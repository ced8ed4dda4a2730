// The filters of the list, as the address has them.
import { api } from "../../lib/api.js";
import { useData, useSettled } from "../../lib/hooks.js";
import { useSearchKey } from "../../lib/keys.js";
import { html, useEffect, useRef, useState } from "../../lib/preact.js";
import { setQuery } from "../../lib/router.js";
import { Field, Icon, TypedField } from "../../parts/index.js";

const NAMES = ["q", "status", "task", "tag", "session", "batch", "since", "from", "to", "tenant"];
const STATUSES = ["queued", "running", "waiting", "completed", "failed", "cancelled"];
export const SPANS = { "1h": ["Last hour", 3600], "24h": ["Last 24 hours", 86_400], "7d": ["Last 7 days", 604_800], "30d": ["Last 30 days", 2_592_000] };

// What the address asks for: a plain object of the filters that are set.
export function filtersIn(query) {
  return Object.fromEntries(NAMES.map((name) => [name, query.get(name)]).filter(([, value]) => value));
}

// A time of the address; one without a zone is in that of the reader.
function moment(text) {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

// What is typed in the reader's zone, as the address has it; and back.
function addressed(local) {
  return moment(local)?.replace(/(:00)?\.000Z$/, "Z") ?? local;
}

function inZone(text) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  const two = (number) => String(number).padStart(2, "0");
  return `${String(at.getFullYear()).padStart(4, "0")}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

// The filters as parameters of the API. Spans count back from `now`.
export function parametersOf({ q, status, task, tag, session, batch, since, from, to }, now = Date.now()) {
  const back = SPANS[since]?.[1];
  return {
    q,
    status: STATUSES.includes(status) ? status : undefined,
    task,
    tag,
    session,
    batch,
    created_after: back ? new Date(now - back * 1000).toISOString() : from && moment(from),
    created_before: back ? undefined : to && moment(to),
  };
}

function Search({ value }) {
  const [text, setText] = useState(value);
  const settled = useSettled(text);
  const sent = useRef(value);
  useSearchKey();
  useEffect(() => {
    // The address has changed by itself: by Back, or by a link.
    if (value !== sent.current) setText(value);
    sent.current = value;
  }, [value]);
  useEffect(() => {
    const wanted = settled.trim();
    if (wanted === sent.current) return;
    sent.current = wanted;
    setQuery({ q: wanted });
  }, [settled]);
  return html`<div class="search">
    <${Icon} name="search" />
    <${Field} label="Search in messages and ids" hideLabel type="search" placeholder="Search in messages and ids" maxlength="200" value=${text} onInput=${(event) => setText(event.currentTarget.value)} />
  </div>`;
}

function Choice({ label, name, value, options, any }) {
  return html`<${Field} label=${label} hideLabel as="select" class=${value ? "set" : ""} value=${value ?? ""} onChange=${(event) => setQuery({ [name]: event.currentTarget.value })}>
    <option value="">${any}</option>
    ${options.map(([id, text]) => html`<option key=${id} value=${id}>${text}</option>`)}
  <//>`;
}

function Typed({ label, name, value }) {
  return html`<${TypedField} label=${label} hideLabel class=${value ? "set" : ""} placeholder=${label} maxlength="200" value=${value} onSet=${(text) => setQuery({ [name]: text })} />`;
}

// What was typed stays as it is: a field that is written to forgets which part of the time is being typed.
function Moment({ label, value, onSet }) {
  const [typed, setTyped] = useState("");
  const set = (event) => {
    setTyped(event.currentTarget.value);
    onSet(addressed(event.currentTarget.value));
  };
  return html`<${Field} label=${label} hideLabel type="datetime-local" value=${addressed(typed) === value ? typed : inZone(value)} onChange=${set} />`;
}

function Span({ filters }) {
  const { since, from = "", to = "" } = filters;
  const [between, setBetween] = useState(Boolean(from || to));
  const known = useRef({ from, to });
  useEffect(() => {
    // The address has changed by itself. A time that is being typed is none for a while, and its field stays.
    if (from !== known.current.from || to !== known.current.to) setBetween(Boolean(from || to));
    known.current = { from, to };
  }, [from, to]);
  const shown = between ? "between" : (since ?? "");
  const set = (changed) => {
    known.current = { from, to, ...changed };
    setQuery(changed);
  };
  const choose = (event) => {
    const chosen = event.currentTarget.value;
    setBetween(chosen === "between");
    known.current = { from: "", to: "" };
    setQuery({ since: chosen === "between" ? null : chosen, from: null, to: null });
  };
  const options = [["", "Any time"], ...Object.entries(SPANS).map(([id, [text]]) => [id, text]), ["between", "Between …"]];
  return html`
    <${Field} label="Created" hideLabel as="select" class=${shown ? "set" : ""} value=${shown} onChange=${choose}>
      ${options.map(([id, text]) => html`<option key=${id} value=${id}>${text}</option>`)}
    <//>
    ${between && html`<${Moment} label="Created after" value=${from} onSet=${(value) => set({ from: value })} /><${Moment} label="Created before" value=${to} onSet=${(value) => set({ to: value })} />`}
  `;
}

// `operator` chooses another tenant as well, of whose runs there are outlines alone: these have no text and no tag.
export function Filters({ filters, operator = false }) {
  const { data: tasks } = useData(({ signal }) => api.get("v1/tasks", {}, { signal }), []);
  const [open, setOpen] = useState(false);
  const outlines = operator && Boolean(filters.tenant);
  const names = (tasks?.items ?? []).map((task) => task.name);
  if (filters.task && !names.includes(filters.task)) names.push(filters.task);
  const set = Object.keys(filters).filter((name) => name !== "q").length;
  const clear = () => setQuery(Object.fromEntries(NAMES.map((name) => [name, null])));
  return html`<search class="filters" aria-label="Filters of the list">
    ${!outlines && html`<${Search} value=${filters.q ?? ""} />`}
    <button type="button" class="filters-button" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>
      <${Icon} name="filter" />Filters${set > 0 && html` <span class="nav-badge">${set}</span>`}
    </button>
    <div class="filters-more ${open ? "open" : ""}">
      <${Choice} label="Status" name="status" any="Any status" value=${filters.status} options=${STATUSES.map((one) => [one, one[0].toUpperCase() + one.slice(1)])} />
      <${Choice} label="Task" name="task" any="Any task" value=${filters.task} options=${names.map((one) => [one, one])} />
      ${!outlines && html`<${Typed} label="Tag" name="tag" value=${filters.tag} /><${Typed} label="Session" name="session" value=${filters.session} /><${Typed} label="Batch" name="batch" value=${filters.batch} />`}
      ${operator && html`<${Typed} label="Tenant" name="tenant" value=${filters.tenant} />`}
      <${Span} filters=${filters} />
      ${Object.keys(filters).length > 0 && html`<button type="button" class="link" onClick=${clear}>Clear all</button>`}
    </div>
  </search>`;
}
