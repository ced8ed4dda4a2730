// The console: the navigation, the page that the address names, and all that works everywhere.
import { CallerContext } from "./lib/caller.js";
import { useKeys } from "./lib/keys.js";
import { html, render, useState } from "./lib/preact.js";
import { go, useRoute } from "./lib/router.js";
import { PAGES } from "./pages/index.js";
import { Failure, Loading } from "./parts/states.js";
import { Toasts } from "./parts/toast.js";
import { Account } from "./shell/account.js";
import { ClosedPage } from "./shell/closed_page.js";
import { CurrentPage } from "./shell/current_page.js";
import { KeysHelp } from "./shell/keys_help.js";
import { Navigation } from "./shell/navigation.js";
import { useSession } from "./shell/session.js";
import { SignIn } from "./shell/sign_in.js";

// Pages are shown to those who may ask for what they show.
function pagesFor(caller) {
  return PAGES.filter((page) => caller.scopes.includes(page.scope ?? "runs:read"));
}

// The pages of one caller; another one begins anew.
function Console({ session }) {
  const route = useRoute();
  const [helping, setHelping] = useState(false);
  const pages = pagesFor(session.caller);
  const closed = PAGES.find((page) => page.id === route.page && !pages.includes(page));
  useKeys(
    [
      ...pages.map((page) => ({ keys: [`g ${page.key}`], does: page.title, run: () => go(page.id), group: "Everywhere" })),
      { keys: ["?"], does: "These shortcuts", run: () => setHelping(true), group: "Everywhere" },
    ],
    [pages.map((page) => page.id).join()],
  );
  return html`
    <a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), document.getElementById("main").focus())}>Skip to the content</a>
    <div class="shell">
      <${Navigation} pages=${pages} current=${route.page || pages[0]?.id} account=${html`<${Account} session=${session} />`} onKeys=${() => setHelping(true)} />
      ${pages.length && !closed ? html`<${CurrentPage} pages=${pages} route=${route} />` : html`<${ClosedPage} page=${closed} />`}
    </div>
    <${Toasts} />
    ${helping && html`<${KeysHelp} onClose=${() => setHelping(false)} />`}
  `;
}

function Entrance() {
  const session = useSession();
  const { caller, problem } = session;
  if (caller) return html`<${CallerContext.Provider} value=${caller}><${Console} key=${`${caller.tenant} ${caller.name}`} session=${session} /><//>`;
  if (problem?.status === 401) return html`<${SignIn} session=${session} />`;
  return html`<main class="signed-out" id="main">${problem ? html`<${Failure} problem=${problem} retry=${session.look} />` : html`<${Loading} />`}</main>`;
}

render(html`<${Entrance} />`, document.getElementById("console"));
