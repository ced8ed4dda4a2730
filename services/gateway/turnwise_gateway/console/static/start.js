// Stands in the page and runs before everything else: the first paint has the right colours, and the first requests are
// under way while the console itself is still being loaded. `lib/begun.js` hands their answers on.
(() => {
  let theme = null;
  let isKnown = false;
  try {
    theme = localStorage.getItem("turnwise.theme");
    isKnown = localStorage.getItem("turnwise.known") !== null;
  } catch {
    // Storage is switched off: the system's colours are used.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;

  // All files are at <root>/console/<digest>/.
  const here = new URL(`${document.currentScript.dataset.assets}/`, location.href);
  const isOpen = document.documentElement.dataset.authentication === "none";
  const begun = (globalThis.turnwiseBegun = { at: performance.now(), answers: new Map() });
  const begin = (path) => {
    const { href } = new URL(`../../${path}`, here);
    const headers = { Accept: "application/json", "X-Turnwise-Console": "1" };
    const answer = fetch(href, { headers, credentials: "same-origin", cache: "no-store" }).then((response) => {
      if (response.ok) {
        // Read at once, so that whoever takes the answer need not wait for its body.
        const body = response.text();
        body.catch(() => {});
        response.text = () => body;
      }
      return response;
    });
    // Whoever takes it is told of a failure; no one else needs to be.
    answer.catch(() => {});
    begun.answers.set(href, answer);
    return answer;
  };
  const caller = begin("v1/sign-in");
  const list = () => void begin("v1/runs?limit=30");
  if (!/^#?\/?(runs\/?)?$/.test(location.hash)) {
    const link = document.createElement("link");
    link.rel = "modulepreload";
    link.href = new URL("pages.js", here).href;
    document.head.append(link);
  } else if (!document.hidden) {
    // A server writes down whom it turns away, so whoever may be a stranger asks for nothing else.
    if (isKnown || isOpen) list();
    else caller.then((answer) => answer.ok && list()).catch(() => {});
  }
})();
