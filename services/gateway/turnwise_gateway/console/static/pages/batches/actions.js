// What a person does with a batch: results, the failed items once more, its end.
import { address, api, newIdempotencyKey } from "../../lib/api.js";
import { count } from "../../lib/format.js";
import { html, useState } from "../../lib/preact.js";
import { confirm, Icon, toast } from "../../parts/index.js";
import { batchName, figures } from "./progress.js";

const path = (batch) => `v1/batches/${encodeURIComponent(batch.id)}`;

// Page by page: a server looks through so many items in one request.
async function retryAll(batch) {
  const sum = { continued: 0, restarted: 0, refused: [] };
  let after = 0;
  do {
    const page = await api.post(`${path(batch)}/retry`, { after }, { idempotencyKey: newIdempotencyKey() });
    sum.continued += page.continued;
    sum.restarted += page.restarted;
    sum.refused.push(...page.refused);
    after = page.next_after;
  } while (after !== null);
  return sum;
}

async function retry(batch) {
  const { continued, restarted, refused } = await retryAll(batch);
  const reason = refused.length ? ` ${count(refused.length)} refused: ${refused[0].detail}` : "";
  toast(`${count(continued)} continue, ${count(restarted)} begin anew.${reason}`, refused.length ? "quiet" : "good");
}

async function cancel(batch) {
  const body = "No further item begins, and the runs that have begun end. Results that are there stay. This cannot be undone.";
  if (!(await confirm({ title: "Cancel this batch?", body, action: "Cancel the batch", danger: true }))) return;
  await api.post(`${path(batch)}/cancel`, undefined, { idempotencyKey: newIdempotencyKey() });
  toast("The batch is asked to end.", "good");
}

export function BatchActions({ batch, mayWrite, reload }) {
  const [busy, setBusy] = useState(false);
  const { failed, left } = figures(batch);
  const doing = (deed) => async () => {
    setBusy(true);
    try {
      await deed(batch);
    } catch (problem) {
      toast(problem.detail, "bad");
    }
    setBusy(false);
    reload();
  };
  const canRetry = !batch.cancel_requested_at && (failed > 0 || (batch.stopped && left > 0));
  return html`<span class="row-actions">
    <a class="button" download=${`${batchName(batch)}.jsonl`} href=${address(`${path(batch)}/results`).href}><${Icon} name="download" />Results</a>
    ${mayWrite && canRetry && html`<button type="button" disabled=${busy} onClick=${doing(retry)}><${Icon} name="retry" />Retry failed</button>`}
    ${mayWrite && !batch.finished_at && !batch.cancel_requested_at && html`<button type="button" class="danger" disabled=${busy} onClick=${doing(cancel)}>Cancel</button>`}
  </span>`;
}
