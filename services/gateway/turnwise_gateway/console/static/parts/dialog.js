import { html, render, useEffect, useId, useRef } from "../lib/preact.js";

// A modal dialog of the browser's own: it keeps the focus, closes with Esc, and gives the focus back. `firm`: only its
// buttons close it, for what must not be lost by a slip.
export function Dialog({ title, onClose, children, footer, wide = false, firm = false }) {
  const element = useRef(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog.showModal();
    return () => {
      if (dialog.open) dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const cancelled = (event) => {
    event.preventDefault();
    if (!firm) onClose();
  };
  // A click on the dialog itself is one on its backdrop: its content fills it.
  const clicked = (event) => !firm && event.target === element.current && onClose();
  return html`<dialog ref=${element} class="dialog ${wide ? "wide" : ""}" aria-labelledby=${id} closedby=${firm ? "none" : undefined} onCancel=${cancelled} onMouseDown=${clicked}>
    <div class="dialog-inner">
      <div class="dialog-head">
        <h2 id=${id}>${title}</h2>
        ${!firm && html`<button type="button" class="icon-button" aria-label="Close" onClick=${onClose}>✕</button>`}
      </div>
      <div class="dialog-body">${children}</div>
      ${footer && html`<div class="dialog-foot">${footer}</div>`}
    </div>
  </dialog>`;
}

// Ask before something is done: a promise of true or false. `body` is a text or elements.
export function confirm({ title, body, action = "Continue", danger = false }) {
  const host = document.createElement("div");
  document.body.append(host);
  return new Promise((resolve) => {
    const end = (answer) => {
      render(null, host);
      host.remove();
      resolve(answer);
    };
    const footer = html`
      <button type="button" onClick=${() => end(false)}>Back</button>
      <button type="button" class=${danger ? "danger" : "primary"} autofocus onClick=${() => end(true)}>${action}</button>
    `;
    render(html`<${Dialog} title=${title} onClose=${() => end(false)} footer=${footer}>${typeof body === "string" ? html`<p>${body}</p>` : body}<//>`, host);
  });
}
