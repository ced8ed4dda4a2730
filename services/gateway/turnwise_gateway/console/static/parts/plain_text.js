import { count } from "../lib/format.js";
import { html, useMemo, useState } from "../lib/preact.js";

const LIMIT = 20_000;
// Control characters but tab and newline; what changes the direction of text; what is not seen at all. Joiners (200C,
// 200D) stay: Persian, Hindi and many emoji need them.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udfff]/gu;

function escape(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

// A text for where no element can be, with the codes of what would not be seen.
export function visible(text) {
  return text.replaceAll(UNSEEN, escape);
}

// Texts and escapes of a text; most texts are one piece.
function pieces(text) {
  const made = [];
  let from = 0;
  for (const found of text.replaceAll("\r\n", "\n").matchAll(UNSEEN)) {
    if (found.index > from) made.push(found.input.slice(from, found.index));
    made.push(html`<span class="escape">${escape(found[0])}</span>`);
    from = found.index + found[0].length;
  }
  const plain = text.replaceAll("\r\n", "\n");
  if (from < plain.length) made.push(plain.slice(from));
  return made;
}

// No half of a character at the end.
function cut(text, length) {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

// A text as it is: never markup, its own direction kept to itself, and what would not be seen shown as its code.
export function PlainText({ text, limit = LIMIT, inline = false }) {
  const [shown, setShown] = useState(limit);
  const whole = text ?? "";
  const content = useMemo(() => pieces(cut(whole, shown)), [whole, shown]);
  const left = whole.length - shown;
  const more = left > 0 && html`<button type="button" class="link more" onClick=${() => setShown(left > 50 * limit ? shown * 10 : whole.length)}>
    ${left > 50 * limit ? "Show more" : "Show all"} (${count(left)} characters left)
  </button>`;
  return html`<${inline ? "span" : "div"} class="plain-text ${inline ? "inline" : ""}" dir="auto">${content}${left > 0 && "…"}<//>${more}`;
}
