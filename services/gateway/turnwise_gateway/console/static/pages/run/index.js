import { html } from "../../lib/preact.js";
import { ComparePage } from "./compare.js";
import { RunPage } from "./page.js";

// The pages below a run's address: `#/runs/RUN`, and `#/runs/RUN/compare/OTHER`.
export default function RunPages({ route: { parts, query } }) {
  const [runId, below, other] = parts;
  if (below === "compare") return html`<${ComparePage} key=${`${runId} ${other}`} runId=${runId} otherId=${other} />`;
  return html`<${RunPage} key=${runId} runId=${runId} query=${query} />`;
}
