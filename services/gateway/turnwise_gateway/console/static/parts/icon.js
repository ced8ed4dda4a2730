import { html } from "../lib/preact.js";

// Outlines on a grid of 16, two strokes thick at most.
const PATHS = {
  runs: "M2 4h2M2 8h2M2 12h2M6.5 4H14M6.5 8H14M6.5 12H14",
  inbox: "M2 9l2-6h8l2 6v4H2zM2 9h3.5a2.5 2.5 0 0 0 5 0H14",
  chat: "M2.5 3h11v8H7l-3 2.5V11H2.5z",
  tasks: "M6 2h4v3.5H6zM2 10.5h4V14H2zM10 10.5h4V14h-4zM8 5.5V8M4 10.5V8h8v2.5",
  batches: "M2.5 8 8 11l5.5-3M2.5 11 8 14l5.5-3M8 2l5.5 3L8 8 2.5 5z",
  overview: "M2 2v12h12M4.5 10.5l3-3.5 2.5 2 3.5-4.5",
  administration: "M8 5.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4zM8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2M3.6 3.6 5 5M11 11l1.4 1.4M3.6 12.4 5 11M11 5l1.4-1.4",
  light: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
  dark: "M13 10A5.8 5.8 0 0 1 6 3a5.5 5.5 0 1 0 7 7z",
  auto: "M2 3h12v8H2zM5.5 14h5M8 11v3",
  keyboard: "M1.5 4h13v8.5h-13zM4 6.5h.01M6.5 6.5h.01M9 6.5h.01M11.5 6.5h.01M4.5 10h7",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3 14 14",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  check: "M3 8.5l3.2 3.2L13 5",
  retry: "M13 4v3.5H9.5M12.7 7.3A5 5 0 1 0 13 9.5",
  cancel: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM3.8 3.8l8.4 8.4",
  down: "M3.5 6l4.5 4.5L12.5 6",
  right: "M6 3.5 10.5 8 6 12.5",
  left: "M10 3.5 5.5 8l4.5 4.5",
  copy: "M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1",
  download: "M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11",
  fork: "M4.5 2v12M4.5 8c5 0 7-1 7-4.5M11.5 2v1.5",
  send: "M2.5 8h10M8.5 4l4 4-4 4",
  stop: "M4 4h8v8H4z",
  plus: "M8 3v10M3 8h10",
  link: "M6.5 9.5l3-3M7 4.5l1.5-1.5a3 3 0 0 1 4.3 4.3L11.5 8.5M9 11.5 7.5 13a3 3 0 0 1-4.3-4.3L4.5 7.5",
  person: "M8 2.5a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4zM2.5 14c.5-3 2.5-4.5 5.5-4.5s5 1.5 5.5 4.5",
  leave: "M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6",
  warning: "M8 2 14.5 13.5h-13zM8 6.5v3M8 11.5h.01",
  tool: "M13.5 4.5a3.2 3.2 0 0 1-4.3 3.8L5 12.5a1.4 1.4 0 0 1-2-2l4.2-4.2A3.2 3.2 0 0 1 11 2.5L9.3 4.3l.4 2 2 .4z",
  clock: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5v3.2l2.2 1.5",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1.5 1.5h-11zM6.5 14.5h3",
  filter: "M2 3.5h12L9.5 9v4.5l-3-1.5V9z",
};

// A decoration: whoever uses it alone in a button gives that a label.
export function Icon({ name, size = 16 }) {
  return html`<svg class="icon" width=${size} height=${size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d=${PATHS[name] ?? ""} />
  </svg>`;
}
