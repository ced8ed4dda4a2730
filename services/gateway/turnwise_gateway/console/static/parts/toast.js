import { html, useEffect, useState } from "../lib/preact.js";

const SHOWN_MS = 5000;
const said = new EventTarget();
let number = 0;

// Say something for a moment; screen readers say it as well. `tone`: good, bad or quiet.
export function toast(text, tone = "quiet") {
  number += 1;
  said.dispatchEvent(new CustomEvent("toast", { detail: { id: number, text, tone } }));
}

// Where toasts appear; the shell has it.
export function Toasts() {
  const [shown, setShown] = useState([]);
  useEffect(() => {
    const timers = new Set();
    const add = ({ detail }) => {
      setShown((before) => [...before.slice(-3), detail]);
      timers.add(setTimeout(() => setShown((before) => before.filter((one) => one.id !== detail.id)), SHOWN_MS));
    };
    said.addEventListener("toast", add);
    return () => {
      said.removeEventListener("toast", add);
      timers.forEach(clearTimeout);
    };
  }, []);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${shown.map((one) => html`<div key=${one.id} class="toast ${one.tone}">${one.text}</div>`)}
  </div>`;
}
