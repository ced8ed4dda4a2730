import { html } from "../lib/preact.js";

// A table of a few hundred rows at most. `columns`: `[{title, render(row), align?: "end", narrow?: false}]`; those with
// `narrow: false` are left out on narrow screens.
export function Table({ columns, rows, rowKey, caption, empty }) {
  const classes = (column) => [column.align === "end" ? "end" : "", column.narrow === false ? "wide-only" : ""].join(" ").trim() || undefined;
  return html`<div class="table-frame" tabindex="0" role="region" aria-label=${caption}>
    <table class="table">
      <caption class="visually-hidden">${caption}</caption>
      <thead>
        <tr>${columns.map((column) => html`<th scope="col" class=${classes(column)}>${column.title}</th>`)}</tr>
      </thead>
      <tbody>
        ${rows.map((row) => html`<tr key=${rowKey(row)}>${columns.map((column) => html`<td class=${classes(column)}>${column.render(row)}</td>`)}</tr>`)}
        ${!rows.length && empty && html`<tr><td colspan=${columns.length} class="absent">${empty}</td></tr>`}
      </tbody>
    </table>
  </div>`;
}
