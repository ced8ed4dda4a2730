import { beginNotifying, canNotify, endNotifying, notifies } from "../../lib/notifications.js";
import { html, useState } from "../../lib/preact.js";
import { Icon, toast } from "../../parts/index.js";

// Desktop notifications on and off; the browser asks the person only after this click.
export function NotifyButton() {
  const [isOn, setOn] = useState(notifies);
  if (!canNotify()) return null;
  const change = async () => {
    if (isOn) endNotifying();
    else if (!(await beginNotifying())) toast("The browser does not allow notifications of this page.", "warning");
    setOn(notifies());
  };
  return html`<button type="button" aria-pressed=${isOn ? "true" : "false"} onClick=${change} title="Tell me of new questions while this tab is in the background">
    <${Icon} name="bell" />${isOn ? "Notifications on" : "Notify me"}
  </button>`;
}
