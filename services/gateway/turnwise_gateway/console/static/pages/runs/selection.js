import { html, useState } from "../../lib/preact.js";
import { Icon, toast } from "../../parts/index.js";
import { changeChosen, changeMatching, runsText, suited } from "./bulk.js";

// The runs that are chosen, by id. Those that are no longer in the list are not chosen either.
export function useChosen(runs) {
  const [ids, setIds] = useState(new Set());
  const [last, setLast] = useState(null);
  const chosen = runs.filter((run) => ids.has(run.id));
  const toggle = (run, withRange = false) => {
    const next = new Set(ids);
    const isOn = !ids.has(run.id);
    const from = withRange ? runs.findIndex((one) => one.id === last) : -1;
    const to = runs.indexOf(run);
    const range = from < 0 ? [run] : runs.slice(Math.min(from, to), Math.max(from, to) + 1);
    for (const one of range) isOn ? next.add(one.id) : next.delete(one.id);
    setIds(next);
    setLast(run.id);
  };
  const setAll = (isOn) => setIds(new Set(isOn ? runs.map((run) => run.id) : []));
  return { chosen, has: (run) => ids.has(run.id), toggle, setAll };
}

// The bar above the list while runs are chosen. `filter` is what all runs in the list match; null where bulk requests
// cannot say the same.
export function SelectionBar({ selection, isAll, filter, onDone }) {
  const [everything, setEverything] = useState(false);
  const [busy, setBusy] = useState(false);
  const { chosen, setAll } = selection;
  const isWide = everything && isAll && filter;
  const act = async (action) => {
    setBusy(true);
    try {
      const isDone = isWide ? await changeMatching(action, filter) : await changeChosen(action, suited(action, chosen));
      if (isDone) {
        setAll(false);
        onDone();
      }
    } catch (problem) {
      toast(problem.detail ?? problem.message, "bad");
    } finally {
      setBusy(false);
    }
  };
  const button = (action, icon, text) => {
    const fit = isWide ? null : suited(action, chosen).length;
    return html`<button type="button" disabled=${busy || fit === 0} onClick=${() => act(action)}>
      <${Icon} name=${icon} />${text}${fit !== null && fit !== chosen.length && fit > 0 ? ` ${fit}` : ""}
    </button>`;
  };
  return html`<div class="selection" role="region" aria-label="Chosen runs">
    <strong aria-live="polite">${isWide ? "All that match" : runsText(chosen.length)} chosen</strong>
    ${button("cancel", "cancel", "Cancel")} ${button("retry", "retry", "Retry")}
    ${isAll && filter && !everything && html`<button type="button" class="link" onClick=${() => setEverything(true)}>Choose all that match the filters</button>`}
    <button type="button" class="link" onClick=${() => setAll(false)}>Choose none</button>
  </div>`;
}
