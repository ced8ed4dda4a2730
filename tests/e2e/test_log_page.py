"""The page of a run in a real browser: unfolded, searched, by mouse and by keys, and with hostile texts in it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, expect
from tests.support.browser import chromium

from turnwise import ChatAgent, ChatAgentConfig, MockLMConfig, Task, TaskConfig, ToolMessage
from turnwise.transcripts.entry import RunTitle
from turnwise.transcripts.page.html import TranscriptPage
from turnwise.transcripts.recorder import Recorder
from turnwise.transcripts.sink import written

HOSTILE = """</pre></details></script><script>document.title = "taken over"</script>
<img src="http://evil.test/x.png" onerror="document.title = 'taken over'"> <style>main { display: none }</style>
<a href="javascript:document.title='taken over'">here</a> & "quoted" ' `{{7*7}}` ]]> <!-- \u202e \x1b[31m"""


class AddTool(ToolMessage):
    request: str = "add"
    purpose: str = "Add <a> and <b>."
    a: int
    b: int

    def handle(self) -> str:
        return f"The sum is {self.a + self.b}\nThe last line of it"


def team(folder: Path) -> Task:
    words = {
        "begin": '{"request": "add", "a": 1, "b": 2}',
        "The sum is 3": "TO[researcher]: Which bird wades?",
        "A heron.": f"DONE {HOSTILE}",
    }
    lead = ChatAgent(ChatAgentConfig(name="lead", llm=MockLMConfig(response_dict=words)))
    lead.enable_message(AddTool)
    researcher = ChatAgent(ChatAgentConfig(name="researcher", llm=MockLMConfig(default_response="DONE A heron.")))
    task = Task(lead, interactive=False, config=TaskConfig(logs_dir=str(folder)))
    task.add_sub_task(Task(researcher, interactive=False))
    return task


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    team(folder).run("begin")
    return folder / "lead.html"


@pytest.fixture
def page(browser: Browser, file: Path) -> Iterator[Page]:
    """The page, opened; a script that fails in it or anything that it asks the network for fails the test."""
    errors: list[str] = []
    with browser.new_page() as opened:
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.on("console", lambda message: errors.append(message.text))
        opened.on("request", lambda request: errors.extend(_outside(request)))
        opened.goto(file.as_uri())
        expect(opened.get_by_role("search")).to_be_visible()
        yield opened
    assert errors == []


def _outside(request: Request) -> list[str]:
    return [] if request.url.startswith("file:") else [request.url]


def line(page: Page, number: int) -> str:
    return f"#m{number} > summary"


def test_a_click_unfolds_a_message_with_its_tool_in_a_form_that_can_be_read(page: Page) -> None:
    body = page.locator("#m2 .body")
    expect(body).to_be_hidden()

    page.locator(line(page, 2)).click()

    expect(body).to_be_visible()
    expect(body.locator("pre")).to_have_text('{\n  "a": 1,\n  "b": 2\n}', use_inner_text=True)
    expect(body).to_contain_text("answers 1")


def test_the_top_says_how_the_run_ended(page: Page) -> None:
    expect(page.locator("#state")).to_have_text("DONE")
    expect(page.locator("#totals")).to_contain_text("8 messages")
    expect(page).to_have_title("lead")


def test_a_sub_task_folds_and_says_how_it_ended(page: Page) -> None:
    sub = page.locator(".task .task > summary")
    expect(sub).to_contain_text("DONE")
    expect(page.locator("#m6")).to_be_visible()

    sub.click()

    expect(page.locator("#m6")).to_be_hidden()


def test_a_search_counts_its_matches_and_unfolds_them_one_by_one(page: Page) -> None:
    page.locator(".task .task > summary").click()
    page.keyboard.press("/")
    page.keyboard.type("HERON")
    expect(page.locator("#count")).to_have_text("2 matches")

    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("1 of 2 matches")
    expect(page.locator("#m6 .body")).to_be_visible()
    page.keyboard.press("Shift+Enter")

    expect(page.locator("#count")).to_have_text("2 of 2 matches")
    expect(page.locator("#m7 .body")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#count")).to_be_empty()


def test_enter_right_after_the_last_letter_goes_to_the_first_match(page: Page) -> None:
    page.evaluate(
        """() => {
            const query = document.getElementById("query");
            query.value = "heron";
            query.dispatchEvent(new Event("input"));
            query.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
            // Later than a search that was still to come.
            return new Promise((done) => setTimeout(done, 50));
        }"""
    )

    expect(page.locator("#count")).to_have_text("1 of 2 matches")
    expect(page.locator("#m6 .body")).to_be_visible()


def test_a_match_is_found_in_text_that_is_folded_and_may_hold_any_sign(page: Page) -> None:
    page.get_by_role("searchbox").fill("last line")
    expect(page.locator("#count")).to_have_text("1 match")

    page.get_by_role("searchbox").fill("`{{7*7}}` ]]>")

    expect(page.locator("#count")).to_have_text("1 match")


def test_matches_are_highlighted(page: Page) -> None:
    page.get_by_role("searchbox").fill("heron")
    expect(page.locator("#count")).to_have_text("2 matches")

    # In the line and the body of both messages; painted once the browser has said which are on the screen.
    page.evaluate(
        """new Promise((done) => {
            const look = () => CSS.highlights.get("found")?.size === 4 ? done() : requestAnimationFrame(look);
            look();
        })"""
    )


def test_only_matches_hides_the_rest(page: Page) -> None:
    page.get_by_role("searchbox").fill("heron")
    page.get_by_label("only matches").check()

    expect(page.locator("#m6")).to_be_visible()
    expect(page.locator("#m2")).to_be_hidden()
    page.get_by_role("searchbox").fill("")
    expect(page.locator("#m2")).to_be_visible()


def test_everything_unfolds_and_folds_by_button_and_by_key(page: Page) -> None:
    page.get_by_role("button", name="Expand all").click()
    expect(page.locator("details:not([open])")).to_have_count(0)

    page.get_by_role("button", name="Collapse all").click()
    expect(page.locator("details[open]")).to_have_count(1)
    page.locator("body").press("e")

    expect(page.locator("details:not([open])")).to_have_count(0)


def test_lines_are_reached_and_unfolded_by_keys(page: Page) -> None:
    for key in ("j", "j", "j", "k", "Enter"):
        page.keyboard.press(key)

    expect(page.locator(line(page, 1))).to_be_focused()
    expect(page.locator("#m1 .body")).to_be_visible()


def test_a_link_to_what_was_answered_unfolds_it(page: Page) -> None:
    page.locator(line(page, 3)).click()
    page.locator("#m3").get_by_role("link", name="2").click()

    expect(page.locator("#m2 .body")).to_be_visible()


def test_a_hostile_text_is_only_text(page: Page) -> None:
    page.locator(line(page, 8)).click()

    expect(page.locator("#m8 pre")).to_contain_text("""onerror="document.title = 'taken over'">""")
    expect(page.locator("#m8 pre")).to_contain_text("\\u202e \\x1b[31m")
    expect(page).to_have_title("lead")
    assert page.locator("main :is(img, script, style, a[href^=javascript])").count() == 0


def test_a_script_that_got_into_the_page_would_not_run(browser: Browser, file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    injected = (
        "<main><script>document.title = 'taken over'</script><img src=x onerror=\"document.title = 'taken over'\">"
    )
    broken.write_text(file.read_text().replace("<main>", injected))

    with browser.new_page() as page:
        page.goto(broken.as_uri())

        expect(page.get_by_role("search")).to_be_visible()
        expect(page).to_have_title("lead")


def test_the_page_of_a_run_that_was_cut_off_can_be_read_and_says_so(
    browser: Browser, file: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.html"
    text = file.read_text()
    cut.write_text(text[: text.index('id="m7"') + 40])

    with browser.new_page() as page:
        page.goto(cut.as_uri())
        page.locator(line(page, 6)).click()

        expect(page.locator("#m6 .body")).to_be_visible()
        expect(page.locator("#state")).to_have_text("no end on record")


def test_the_top_says_how_a_run_ended_after_its_retry(browser: Browser, tmp_path: Path) -> None:
    recorder, at = Recorder(), datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    entries = [
        recorder.started("lead", at),
        recorder.ended("lead", "ERROR", ("ValueError", "it broke"), at),
        recorder.continued("lead", at),
        recorder.ended("lead", "DONE", None, at),
    ]

    for state, shown, seen in (("", entries, "DONE"), ("running", entries[:-1], "running")):
        file = tmp_path / "retried.html"
        file.write_text("".join(written(TranscriptPage(), RunTitle(task="lead", state=state), shown)))
        with browser.new_page() as page:
            page.goto(file.as_uri())

            expect(page.locator("#state")).to_have_text(seen)


def test_the_page_unfolds_without_its_script(browser: Browser, file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    with context.new_page() as page:
        page.goto(file.as_uri())
        page.locator(line(page, 2)).click()

        expect(page.locator("#m2 .body")).to_be_visible()
        expect(page.get_by_role("search")).to_be_hidden()
    context.close()


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 24, 29)")])
def test_the_page_follows_the_colour_scheme(browser: Browser, file: Path, scheme: str, paper: str) -> None:
    context = browser.new_context(color_scheme=scheme)  # type: ignore[arg-type]  # one of two literals
    with context.new_page() as page:
        page.goto(file.as_uri())

        expect(page.locator("body")).to_have_css("background-color", paper)
    context.close()
