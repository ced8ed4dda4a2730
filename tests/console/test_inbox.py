"""The console's inbox in a browser: questions and parked calls, answered in place by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.console import talk_desk, talk_model
from tests.console.conftest import Faults, Opening
from tests.console.interception import held, is_post
from tests.console.world import Shop, shop
from tests.e2e.waiting import until
from tests.support.client_views import parked_asks, present
from tests.support.gateway_parts import served

from turnwise.api.inbox import QuestionView
from turnwise.client import Client

# The browser's notifications, as the desktop would be told; and a tab that the test can put into the background.
_DESKTOP = """
window.told = [];
window.Notification = class {
  static permission = "default";
  static async requestPermission() { return (Notification.permission = "granted"); }
  constructor(title, options) { window.told.push(`${title}: ${options.body}`); }
  close() {}
};
Object.defineProperty(document, "hidden", { get: () => Boolean(window.away) });
"""


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A server of `talk_desk`."""
    with shop(tmp_path_factory.mktemp("inbox"), application=talk_desk.app, model=talk_model.answer) as made:
        yield made


@pytest.fixture
def client(talk: Shop) -> Iterator[Client]:
    """A client of the server, whose inbox is empty before and after."""
    yield talk.client
    talk.empty()
    until(lambda: not talk.client.inbox(), "the inbox to be empty")


def ask(client: Client, *messages: str, task: str = "asker") -> list[str]:
    """Runs that wait for a human, in this order; their ids."""
    found = []
    for message in messages:
        run = client.submit(task, message)
        until(lambda run=run: client.run(run.id).status == "waiting", "the run to wait")  # type: ignore[misc]
        found.append(run.id)
    return found


def items(page: Page) -> list[str]:
    return page.locator("[data-item]").evaluate_all("all => all.map(one => one.dataset.item)")  # type: ignore[no-any-return]


def ends(client: Client, run: str, status: str = "completed") -> str:
    until(lambda: client.run(run).status == status, f"the run to be {status}")
    result = client.run(run).result
    return result.content if result is not None else ""


def test_questions_are_answered_by_keyboard_alone_oldest_first(opened: Opening, talk: Shop, client: Client) -> None:
    first, second = ask(client, "Paint the door.", "Paint the wall.")
    page = opened(f"{talk.url}/#/inbox")
    expect(page).to_have_title("(2) Inbox · Turnwise")
    expect(page.get_by_role("navigation", name="Pages").get_by_role("link", name="Inbox")).to_contain_text("2")
    expect(page.locator("[data-item]")).to_have_count(2)
    shown = items(page)
    assert [item.partition(".")[0] for item in shown] == [first, second]

    page.keyboard.press("j")
    expect(page.locator("[data-item]").nth(0).get_by_role("button", expanded=True)).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("[data-item]").nth(1).get_by_role("button", expanded=True)).to_be_focused()
    # The end of the run's conversation stands below the question.
    expect(page.get_by_text("Paint the wall.")).to_be_visible()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your answer")).to_be_focused()
    page.keyboard.type("green")
    page.keyboard.press("Control+Enter")
    # The next one takes its place, and its field has the focus.
    expect(page.locator("[data-item]")).to_have_count(1)
    expect(page.get_by_label("Your answer")).to_be_focused()
    expect(page).to_have_title("(1) Inbox · Turnwise")
    page.keyboard.type("white\nmatt")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", expanded=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your answer")).to_be_focused()
    expect(page.get_by_label("Your answer")).to_have_value("white\nmatt")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Nothing waits for a person")).to_be_visible()
    expect(page).to_have_title("Inbox · Turnwise")
    assert ends(client, first) == "It is green now."
    assert ends(client, second) == "It is white\nmatt now."


def test_a_parked_call_is_resolved_in_each_of_three_ways(opened: Opening, talk: Shop, client: Client) -> None:
    happened, again = ask(client, "a vase", "a lamp", task="cashier")
    page = opened(f"{talk.url}/#/inbox")
    expect(page.get_by_text("No one knows whether this call happened.")).to_be_visible()
    [item, _] = parked_asks(client.inbox())
    expect(page.locator(".facts")).to_contain_text(present(item.idempotency_key))
    expect(page.locator(".facts")).to_contain_text("a vase")
    page.get_by_role("button", name="Resolve").click()
    expect(page.get_by_text("Choose what became of it.")).to_be_visible()
    page.get_by_role("radio", name="It happened").check()
    page.get_by_label("The result is JSON").check()
    page.get_by_label("Its result").fill('{"refund": ')
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("The result is no JSON")).to_be_visible()
    page.get_by_label("Its result").fill('{"refund": 4711}')
    page.keyboard.press("Control+Enter")
    assert '"refund": 4711' in ends(client, happened)

    # Called again, it is parked again, with the same id.
    expect(page.locator("[data-item]")).to_have_count(1)
    before = parked_asks(client.inbox())[0]
    page.get_by_role("radio", name="Call it again").check()
    page.keyboard.press("Control+Enter")
    until(lambda: [one for one in parked_asks(client.inbox()) if one.parked_at > before.parked_at], "the call")
    expect(page.locator("[data-item]")).to_have_count(1)

    page.get_by_role("radio", name="Fail the run").check()
    page.keyboard.press("Control+Enter")
    page.get_by_role("dialog").get_by_role("button", name="Back").click()
    assert client.run(again).status == "waiting"
    page.get_by_role("button", name="Resolve").click()
    page.get_by_role("dialog").get_by_role("button", name="Fail the run").click()
    expect(page.get_by_role("heading", name="Nothing waits for a person")).to_be_visible()
    ends(client, again, "failed")


def test_an_answer_that_comes_too_late_is_said_and_the_item_leaves(opened: Opening, talk: Shop, client: Client) -> None:
    ask(client, "one", "two")
    page = opened("about:blank")
    page.add_init_script(_DESKTOP)
    page.goto(f"{talk.url}/#/inbox")
    expect(page.locator("[data-item]")).to_have_count(2)
    first, second = client.inbox()
    # The page does not look while no one does, so it learns of it by the refusal.
    page.evaluate("window.away = true")
    client.answer(first.run, "red", question=first.id)
    page.get_by_label("Your answer").fill("blue")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Too late: ")).to_be_visible()
    expect(page.locator("[data-item]")).to_have_count(1)

    # Whoever is writing keeps the words, and is told.
    page.get_by_label("Your answer").fill("yellow")
    page.evaluate("window.away = false; document.dispatchEvent(new Event('visibilitychange'))")
    client.answer(second.run, "black", question=second.id)
    expect(page.get_by_text("This was decided by someone else while you were writing.")).to_be_visible()
    expect(page.get_by_label("Your answer")).to_have_value("yellow")
    expect(page.get_by_role("button", name="Send")).to_have_count(0)
    page.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_role("heading", name="Nothing waits for a person")).to_be_visible()
    assert ends(client, first.run) == "It is red now."
    assert ends(client, second.run) == "It is black now."


def test_every_page_counts_and_a_tab_in_the_background_notifies(opened: Opening, talk: Shop, client: Client) -> None:
    page = opened("about:blank")
    page.add_init_script(_DESKTOP)
    page.goto(f"{talk.url}/#/inbox")
    expect(page.get_by_role("heading", name="Nothing waits for a person")).to_be_visible()
    assert page.evaluate("Notification.permission") == "default"
    page.get_by_role("button", name="Notify me").click()
    expect(page.get_by_role("button", name="Notifications on")).to_be_visible()
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page).to_have_title("Runs · Turnwise")
    [run] = ask(client, "a question")
    expect(page).to_have_title("(1) Runs · Turnwise")
    assert page.evaluate("window.told") == []

    page.evaluate("window.away = true")
    ask(client, "another question")
    # In the background it looks seldom; a look at once tells what it would.
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    until(lambda: page.evaluate("window.told.length > 0"), "the notification")

    assert page.evaluate("window.told") == ["Turnwise: 2 questions and calls wait for a person."]
    assert next(item.run for item in client.inbox() if isinstance(item, QuestionView)) == run


def test_an_inbox_of_more_than_a_page_is_read_to_its_end(opened: Opening, tmp_path: Path) -> None:
    with served(tmp_path) as gateway:
        asked = [gateway.ask_human(gateway.submit(message=f"number {number}")) for number in range(130)]
        page = opened(f"{gateway.base_url}/#/inbox")
        expect(page.get_by_text("130 wait", exact=True)).to_be_visible()
        expect(page.locator("[data-item]")).to_have_count(100)
        page.get_by_role("button", name="Show more").click()
        expect(page.locator("[data-item]")).to_have_count(130)

        assert items(page) == asked
        expect(page.get_by_role("button", name="Show more")).to_have_count(0)


def test_a_late_answer_leaves_the_one_that_is_being_written_alone(opened: Opening, talk: Shop, client: Client) -> None:
    first, _, third = ask(client, "one", "two", "three")
    page = opened(f"{talk.url}/#/inbox")
    heads = page.locator(".inbox-head")
    expect(heads).to_have_count(3)
    with held(page, is_post) as answer:
        heads.nth(0).click()
        page.get_by_label("Your answer").fill("red")
        page.keyboard.press("Control+Enter")
        answer.wait()
        # On to the third question, while the answer to the first is under way.
        heads.nth(2).click()
        page.get_by_label("Your answer").fill("no, ")
        page.get_by_label("Your answer").press("End")
        answer.release()
        expect(page.get_by_text("Answered.")).to_be_visible()
        expect(heads).to_have_count(2)
    page.keyboard.type("never blue")
    expect(page.get_by_label("Your answer")).to_have_value("no, never blue")
    page.keyboard.press("Control+Enter")
    assert ends(client, first) == "It is red now."
    assert ends(client, third) == "It is no, never blue now."


def test_an_answer_that_fails_after_the_person_moved_on_is_told_of_and_kept(
    opened: Opening, talk: Shop, client: Client, faults: Faults
) -> None:
    ask(client, "one", "two")
    page = opened(f"{talk.url}/#/inbox")
    expect(page.locator("[data-item]")).to_have_count(2)
    first, second = client.inbox()
    page.get_by_label("Your answer").fill("blue")
    unavailable = {"status": 503, "json": {"code": "database_unavailable", "detail": "The database is away."}}
    with held(page, is_post) as answer:
        page.keyboard.press("Control+Enter")
        answer.wait()
        page.locator(f'[data-item="{second.id}"] .inbox-head').click()
        answer.fulfil(**unavailable)
    expect(page.get_by_text("Not sent: The database is away. It is kept as a draft in the inbox.")).to_be_visible()

    page.locator(f'[data-item="{first.id}"] .inbox-head').click()
    expect(page.get_by_label("Your answer")).to_have_value("blue")
    faults.found.clear()
