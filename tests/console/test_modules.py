"""The console's modules joined in two files: a small set of them, run by a browser as it would run the real ones."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser

from turnwise_gateway.console.modules import FIRST, OTHERS, joined_modules

MODULES = {
    "vendor/library.mjs": "var a=1;function b(){return a}a=2;export{b as value,a as again};",
    "vendor/only.mjs": 'import{value as n}from"./library.mjs";var t=n;export default function(){return t()}',
    "lib/names.js": """\
// A comment that says `import` and export.
import only from "../vendor/only.mjs";
import {
  value,
  again as one,
} from "../vendor/library.mjs";

export { again } from "../vendor/library.mjs";
export const found = `
  ${only()} ${value()} ${one}`.trim();
export async function* counted() {
  yield Counter.of();
}
export class Counter {
  static of() {
    return import.meta.url;
  }
}
export { value };
""",
    "pages/late.js": """\
import { found } from "../lib/names.js";
export default function Late() {
  return `late ${found}`;
}
""",
    "app.js": """\
import { again, counted, found, value } from "./lib/names.js";
globalThis.result = (async () => {
  const late = () => import("./pages/late.js");
  const [url] = await Array.fromAsync(counted());
  return [found, again, value(), new URL(url).pathname, (await late()).default(), (await late()) === (await late())];
})();
""",
}


@contextmanager
def serving(files: dict[str, str]) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = files.get(self.path.removeprefix("/"), f'<script type="module" src="/{FIRST}"></script>')
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript" if self.path.endswith("js") else "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_joined_modules_do_what_they_do_alone(browser: Browser) -> None:
    def run_with(files: dict[str, str], entry: str) -> object:
        with serving({FIRST: files[entry]} | files) as url:
            page = browser.new_page()
            page.goto(url)
            page.wait_for_function("globalThis.result")
            return page.evaluate("result")

    joined = run_with(joined_modules(MODULES), FIRST)

    assert joined == run_with(MODULES, "app.js")
    assert joined == ["2 2 2", 2, 2, "/lib/names.js", "late 2 2 2", True]


def test_what_is_loaded_later_is_in_the_other_file() -> None:
    files = joined_modules(MODULES)

    assert [text in files[FIRST] for text in ("class Counter", "function Late")] == [True, False]
    assert [text in files[OTHERS] for text in ("class Counter", "function Late")] == [False, True]


@pytest.mark.parametrize(
    "line",
    ['import * as all from "./a.js";', "export let a = 1;", 'import "./a.js";', 'export * from "./a.js";'],
)
def test_a_form_that_cannot_be_joined_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"^app\.js: found "):
        joined_modules({"app.js": f"const b = 1;\n{line}\n"})


def test_modules_that_import_each_other_are_refused() -> None:
    modules = {"app.js": 'import { a } from "./a.js";', "a.js": 'import { b } from "./app.js";\nexport const a = 1;'}

    with pytest.raises(ValueError, match="imports itself"):
        joined_modules(modules)
