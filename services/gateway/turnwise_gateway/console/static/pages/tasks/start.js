import { api, newIdempotencyKey } from "../../lib/api.js";
import { useUnsent } from "../../lib/drafts.js";
import { duration, money, tokens } from "../../lib/format.js";
import { parseJson } from "../../lib/json.js";
import { html, useEffect, useRef, useState } from "../../lib/preact.js";
import { go } from "../../lib/router.js";
import { Failure, Field, toast } from "../../parts/index.js";

const EMPTY = { message: "", session_id: "", tags: "", max_cost: "", max_tokens: "", turns: "", minutes: "", hours: "", on_limit: "", priority: "", version: "", metadata: "" };

function amount(text) {
  return text === "" ? undefined : Number(text);
}

function given(values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== ""));
}

// The body of the request. Throws a `SyntaxError` for metadata that is no JSON.
function bodyOf(task, form) {
  const minutes = amount(form.minutes);
  const hours = amount(form.hours);
  const limits = given({ max_cost: form.max_cost.trim(), max_tokens: amount(form.max_tokens), turns: amount(form.turns), deadline: minutes === undefined ? undefined : minutes * 60, on_limit: form.on_limit, can_wait: hours === undefined ? undefined : hours * 3600 });
  return {
    task: task.name,
    message: form.message,
    ...given({
      session_id: form.session_id.trim(),
      version: form.version.trim(),
      priority: amount(form.priority),
      tags: form.tags.trim() ? form.tags.split(",").map((tag) => tag.trim()).filter(Boolean) : undefined,
      metadata: form.metadata.trim() ? parseJson(form.metadata) : undefined,
      limits: Object.keys(limits).length ? limits : undefined,
    }),
  };
}

function isObject(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value);
  } catch {
    return false;
  }
}

function Options({ task, field, metadataError }) {
  const { limits } = task;
  return html`
    <div class="form-grid">
      <${Field} label="Most cost (USD)" inputmode="decimal" pattern="[0-9]+([.][0-9]+)?" placeholder=${limits.max_cost ? money(limits.max_cost) : "no limit"} ...${field("max_cost")} />
      <${Field} label="Most tokens" type="number" min="0" placeholder=${limits.max_tokens ? tokens(limits.max_tokens) : "no limit"} ...${field("max_tokens")} />
      <${Field} label="Turns of the task" type="number" min="1" placeholder="no limit" ...${field("turns")} />
      <${Field} label="Deadline (minutes)" type="number" min="0" step="any" placeholder=${limits.deadline ? duration(limits.deadline) : "none"} ...${field("minutes")} />
      <${Field} label="Calls can wait (hours)" type="number" min="0" step="any" placeholder="as the task says" title="Model calls are answered in batches of their provider, at half the price" ...${field("hours")} />
      <${Field} label="At a limit" as="select" ...${field("on_limit")}>
        <option value="">${limits.on_limit === "wait" ? "Wait for more (default)" : "End (default)"}</option>
        <option value="end">End</option>
        <option value="wait">Wait for more</option>
      <//>
      <${Field} label="Priority" type="number" min="-100" max="100" placeholder="0" ...${field("priority")} />
      ${task.pinned && html`<${Field} label="Version" placeholder=${task.version} ...${field("version")} />`}
    </div>
    <${Field} label="Metadata (a JSON object)" as="textarea" rows="3" spellcheck=${false} placeholder=${'{"order": 17}'} error=${metadataError} ...${field("metadata")} />
  `;
}

// The form of a new run; it leads to the run's page.
export function Start({ task }) {
  const { draft, keep, drop } = useUnsent(`start ${task.name}`);
  const [form, setForm] = useState(draft.form ?? EMPTY);
  const [problem, setProblem] = useState(null);
  const [sending, setSending] = useState(false);
  // Of one text of the form: sent again after a lost answer, it makes one run.
  const key = useRef(draft.key ?? newIdempotencyKey());
  const isShown = useRef(true);
  useEffect(() => () => void (isShown.current = false), []);
  const field = (name) => ({
    value: form[name],
    onInput: (event) => {
      drop();
      key.current = newIdempotencyKey();
      setForm({ ...form, [name]: event.target.value });
    },
  });
  const metadataError = form.metadata.trim() && !isObject(form.metadata) ? "This is no JSON object, such as {\"order\": 17}." : null;
  const submit = async (event) => {
    event.preventDefault();
    if (metadataError || sending) return;
    drop();
    setSending(true);
    try {
      const run = await api.post("v1/runs", bodyOf(task, form), { idempotencyKey: key.current });
      if (isShown.current) go("runs", [run.id]);
      else toast("The run is started.", "good");
    } catch (error) {
      if (!isShown.current) {
        keep({ form, key: key.current });
        toast(`Not started: ${error.detail ?? error.message} It is kept as a draft at the task.`, "bad");
      }
      setProblem(error);
      setSending(false);
    }
  };
  const typed = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.currentTarget.requestSubmit();
  return html`<form class="form" onSubmit=${submit} onKeyDown=${typed}>
    <${Field} label="Message" as="textarea" rows="5" required placeholder="What to work on" hint="Ctrl+Enter starts the run." ...${field("message")} />
    <div class="form-grid">
      <${Field} label="Session" placeholder="none" pattern="[A-Za-z0-9][A-Za-z0-9._:@\\-]*" maxlength="128" title="Letters, digits and . _ : @ -" ...${field("session_id")} />
      <${Field} label="Tags, with commas between" placeholder="none" ...${field("tags")} />
    </div>
    <details class="more-options"><summary>Limits and more</summary><div class="form"><${Options} task=${task} field=${field} metadataError=${metadataError} /></div></details>
    ${problem && html`<${Failure} problem=${problem} compact />`}
    <div><button type="submit" class="primary" disabled=${sending}>${sending ? "Starting…" : "Start"}</button></div>
  </form>`;
}
