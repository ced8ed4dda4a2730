import { runPath } from "../../../lib/live.js";
import { html, useEffect, useState } from "../../../lib/preact.js";
import { go } from "../../../lib/router.js";
import { Field, toast, useAction } from "../../../parts/index.js";
import { eventsSoFar } from "../event_reader.js";
import { ActionDialog } from "./action_dialog.js";
import { LimitFields, limitsOf } from "./limit_fields.js";
import { placesOf, whereAsked } from "./fork_places.js";

// The event with which the message's author was asked: shortly before the message itself.
async function askedAt(run, entry, signal) {
  for (const before of [12, 400, entry.event]) {
    const found = [];
    for await (const some of eventsSoFar(run.id, { after: Math.max(0, entry.event - before), last: entry.event, signal })) found.push(...some);
    const at = whereAsked(found, entry);
    if (at !== null) return at;
  }
  return null;
}

// A fork at a message: the reader chooses where it continues (`prefer` is chosen at first), and edits what is said there.
export function Fork({ run, entry, prefer = "edit", onClose }) {
  const [asked, setAsked] = useState(undefined);
  const [chosen, setChosen] = useState(prefer);
  const [message, setMessage] = useState(entry.document.content ?? "");
  const [model, setModel] = useState("");
  const [session, setSession] = useState("");
  const [typed, setTyped] = useState({});
  const { busy, problem, send, isShown } = useAction();

  useEffect(() => {
    const aborting = new AbortController();
    askedAt(run, entry, aborting.signal).then(setAsked, () => aborting.signal.aborted || setAsked(null));
    return () => aborting.abort();
  }, [run.id, entry.event]);

  const places = asked === undefined ? [] : placesOf(entry, asked);
  const place = places.find((one) => one.id === chosen) ?? places[0];
  const fork = async () => {
    const body = { at: place.at, limits: limitsOf(typed) };
    if (place.edits) body.message = message;
    if (model.trim()) body.model = model.trim();
    if (session.trim()) body.session_id = session.trim();
    const made = await send("post", runPath(run.id, "/fork"), body);
    if (!made) return;
    toast("The fork is made.", "good");
    if (!isShown()) return;
    onClose();
    go("runs", [made.id]);
  };
  return html`<${ActionDialog} title="Fork at message ${entry.event}" action="Fork" doing="Forking…" wide busy=${busy} problem=${problem} disabled=${!place || (place.edits && !message.trim())} onSend=${fork} onClose=${onClose}>
    <p class="soft">The fork is a run of its own that has this one's past up to there. Nothing of that is paid or done again, and this run stays as it is.</p>
    ${asked === undefined && html`<p class="soft" role="status">Looking for where it was asked…</p>`}
    ${places.length > 0 &&
    html`<fieldset class="options">
      <legend>How does it continue?</legend>
      ${places.map((one) => html`<label key=${one.id} class="option"><input type="radio" name="place" value=${one.id} checked=${one === place} onChange=${() => setChosen(one.id)} /><span><strong>${one.title}</strong> <span class="soft">${one.hint}</span></span></label>`)}
    </fieldset>`}
    ${place?.edits && html`<${Field} as="textarea" rows="6" label="The message" value=${message} onInput=${(event) => setMessage(event.currentTarget.value)} />`}
    <details class="fold">
      <summary><span class="fold-name">Model, session and limits</span></summary>
      <div class="fold-body action">
        <${Field} label="Model of all agents" hint="Left empty, each keeps its own." value=${model} onInput=${(event) => setModel(event.currentTarget.value)} />
        <${Field} label="New session" hint="A session that begins with the fork; left empty, it belongs to none." value=${session} onInput=${(event) => setSession(event.currentTarget.value)} />
        <${LimitFields} names=${["max_cost", "max_tokens", "turns", "deadline"]} typed=${typed} problem=${problem} onType=${setTyped} />
      </div>
    </details>
  <//>`;
}
