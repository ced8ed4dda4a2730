// Notifications of the desktop: asked for by a click alone, and kept off by another.
import { keep, kept } from "./settings.js";

// Browsers offer them to pages of HTTPS and of this machine only.
export function canNotify() {
  return "Notification" in globalThis && isSecureContext && Notification.permission !== "denied";
}

export function notifies() {
  return "Notification" in globalThis && Notification.permission === "granted" && kept("notifications", "off") === "on";
}

// Called for a click; true if the person agrees.
export async function beginNotifying() {
  const answer = await Notification.requestPermission();
  if (answer === "granted") keep("notifications", "on");
  return answer === "granted";
}

export function endNotifying() {
  keep("notifications", null);
}

// One notification at a time: a later one takes its place. `onOpen` is called when it is clicked.
export function notify(title, body, onOpen) {
  let shown;
  try {
    shown = new Notification(title, { body, tag: "turnwise-inbox" });
  } catch {
    // Some mobile browsers only know notifications of service workers.
    return;
  }
  shown.onclick = () => {
    window.focus();
    shown.close();
    onOpen();
  };
}
