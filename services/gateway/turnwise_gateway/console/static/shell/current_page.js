import { html, useEffect, useErrorBoundary, useRef, useState } from "../lib/preact.js";
import { link } from "../lib/router.js";
import { Page } from "../parts/page.js";
import { Empty, Failure, Loading } from "../parts/states.js";

const loaded = new Map();

// A page's component; loaded when it is first shown, but for that of the first page.
function usePage(page, isDetail) {
  const [state, setState] = useState({});
  const [attempt, setAttempt] = useState(0);
  const load = page && (isDetail ? page.detail : page.load);
  const component = (!isDetail && page?.component) || loaded.get(load);
  useEffect(() => {
    // Asked of the render: it may have been loaded since, by an effect whose page was left.
    if (!load || component) return undefined;
    let stale = false;
    load().then(
      (module) => {
        loaded.set(load, module.default);
        if (!stale) setState({});
      },
      (error) => !stale && setState({ error }),
    );
    return () => {
      stale = true;
    };
  }, [load, attempt]);
  const retry = () => {
    setState({});
    setAttempt(attempt + 1);
  };
  return { component, error: state.error, retry };
}

// A fault of a page leaves the navigation as it is.
function Guarded({ component: Component, route }) {
  const [error, reset] = useErrorBoundary((found) => console.error(found));
  if (error) return html`<${Failure} problem=${error} retry=${reset} />`;
  return html`<${Component} route=${route} />`;
}

export function CurrentPage({ pages, route }) {
  const page = pages.find((one) => one.id === (route.page || pages[0]?.id));
  const isDetail = Boolean(page?.detail) && route.parts.length > 0;
  const { component, error, retry } = usePage(page, isDetail);
  const main = useRef(null);
  const id = isDetail ? `${page.id}/` : page?.id;
  const shown = useRef(id);
  useEffect(() => {
    // Keyboards and screen readers begin at the new page, not where the old one was left.
    if (shown.current !== id) main.current.focus({ preventScroll: true });
    shown.current = id;
  }, [id]);
  return html`<main id="main" ref=${main} tabindex="-1">
    ${!page && html`<${Page} title="No page"><${Empty} title="There is no such page" hint="The address names a page that this console does not have." action=${html`<a class="button" href=${link(pages[0].id)}>Go to ${pages[0].title}</a>`} /><//>`}
    ${page && error && html`<${Failure} problem=${error} retry=${retry} />`}
    ${page && !error && !component && html`<${Loading} />`}
    ${page && component && html`<${Guarded} key=${id} component=${component} route=${route} />`}
  </main>`;
}
