// The title of the browser's tab: a count of what waits for a person, the page, the product.
import { useEffect } from "./preact.js";

let page = "";
let waiting = 0;

function show() {
  const name = page ? `${page} · Turnwise` : "Turnwise";
  document.title = waiting ? `(${waiting}) ${name}` : name;
}

export function useTitle(text) {
  useEffect(() => {
    page = text;
    show();
  }, [text]);
}

// The number of questions that wait for a person.
export function setWaiting(number) {
  waiting = number;
  show();
}
