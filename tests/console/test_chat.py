"""Talking with a task in the console, in a browser: streaming, in sessions, with questions, failures and a stop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect
from tests.console import talk_desk, talk_model
from tests.console.conftest import Opening
from tests.console.interception import held, intercept, is_post
from tests.console.world import Shop, shop
from tests.e2e.waiting import until
from tests.support.client_views import present

from turnwise.testing.fake_llm.answer import ScriptedFault


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A server of `talk_desk`."""
    with shop(tmp_path_factory.mktemp("chat"), application=talk_desk.app, model=talk_model.answer) as made:
        yield made


def say(page: Page, text: str) -> None:
    page.get_by_label("Your ").fill(text)
    page.keyboard.press("Enter")


def answers(page: Page) -> list[str]:
    return page.locator(".bubble.said").all_inner_texts()


def over(page: Page, exchanges: int) -> None:
    """Wait until so many runs of the page have ended, and what was said last is shown."""
    expect(page.locator(".chat-under")).to_have_count(exchanges)
    expect(page.locator("[data-live]")).to_have_count(0)


def test_an_answer_streams_with_the_work_of_tools_and_the_session_remembers(opened: Opening, talk: Shop) -> None:
    page = opened(f"{talk.url}/#/chat")
    page.get_by_role("link", name="clerk").click()
    expect(page).to_have_title("Chat: clerk · Turnwise")
    expect(page.get_by_label("Your message")).to_be_focused()
    say(page, "What is the fare to Lyon?")
    over(page, 1)
    # The work is folded; unfolded, it has the tool with its arguments and what it said.
    expect(page.get_by_text("Worked: fare · 2 messages")).to_be_visible()
    expect(page.locator(".step")).to_have_count(0)
    page.get_by_text("Worked: fare").click()
    expect(page.locator(".step").first).to_contain_text("I look it up.")
    page.locator(".chat-tool > summary").click()
    expect(page.locator(".chat-tool")).to_contain_text("Lyon")
    expect(page.locator(".step").last).to_contain_text("The fare to Lyon is 84 EUR.")
    assert answers(page) == ["clerk\nThe fare to Lyon is 84 EUR. You have said 2 things."]

    say(page, "count to 40")
    live = page.locator("[data-live]")
    expect(live).to_contain_text("word3")
    early = live.inner_text()
    expect(live).to_contain_text("word9")
    assert "word39" not in early
    # Meanwhile nothing can be sent, and it can be stopped.
    page.get_by_label("Your message").fill("more")
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    over(page, 2)
    expect(page.get_by_label("Your message")).to_have_value("more")
    assert answers(page)[1].endswith("word39")
    say(page, "And now?")
    expect(page.locator(".bubble.said").nth(2)).to_have_text("clerkAnd now? You have said 4 things.")
    over(page, 3)

    # Another session knows nothing of this one, which the tab has in its list. Nothing that was said is stored.
    first = page.url
    page.get_by_role("button", name="New session").click()
    expect(page.locator(".bubble")).to_have_count(0)
    say(page, "Hello.")
    over(page, 1)
    expect(page.locator(".bubble.said")).to_have_text(["clerkHello. You have said 1 things."])
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "Hello" not in stored
    assert "Lyon" not in stored
    sessions = page.get_by_role("navigation", name="Sessions of this tab")
    expect(sessions.get_by_role("link")).to_have_count(2)
    sessions.get_by_role("link", name="And now?").click()
    over(page, 3)
    assert page.url == first
    expect(page.locator(".bubble.you")).to_have_text(["What is the fare to Lyon?", "count to 40", "And now?"])
    page.get_by_role("button", name="Show its work").first.click()
    expect(page.get_by_text("Worked: fare · 2 messages")).to_be_visible()
    sessions.get_by_role("button").first.click()
    expect(sessions.get_by_role("link")).to_have_count(1)


def test_a_question_to_the_human_is_answered_in_place_also_after_the_page_was_left(opened: Opening, talk: Shop) -> None:
    page = opened(f"{talk.url}/#/chat/asker", viewport={"width": 360, "height": 640})
    client = talk.client
    say(page, "Paint the door.")
    expect(page.get_by_label("Your answer to asker")).to_be_focused()
    expect(page.locator(".bubble.said")).to_have_text("askerWhich colour?")
    page.reload()
    expect(page.get_by_label("Your answer to asker")).to_be_focused()
    expect(page.locator(".bubble.said")).to_have_text("askerWhich colour?")
    say(page, "green")
    over(page, 1)
    expect(page.locator(".bubble.you")).to_have_text(["Paint the door.", "green"])
    assert answers(page)[-1] == "asker\nIt is green now."

    # Someone else answers.
    say(page, "Paint the wall.")
    expect(page.get_by_label("Your answer to asker")).to_be_visible()
    [question] = client.inbox()
    page.get_by_label("Your answer to asker").fill("blue")
    client.answer(question.run, "red")
    page.keyboard.press("Enter")
    over(page, 2)
    assert answers(page)[-1] == "asker\nIt is red now."
    expect(page.get_by_label("Your message")).to_have_value("blue")
    assert client.inbox() == []
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_an_answer_that_comes_too_late_is_no_message_until_it_is_sent_again(opened: Opening, talk: Shop) -> None:
    page = opened(f"{talk.url}/#/chat/asker")
    client = talk.client
    say(page, "Paint the gate.")
    field = page.get_by_label("Your answer to asker")
    expect(field).to_be_visible()
    field.fill("blue")
    [question] = client.inbox()
    client.answer(question.run, "red")
    over(page, 1)
    # The page knows already that the question is answered. A person who was about to press Enter does not.
    page.keyboard.press("Enter")
    expect(page.get_by_text("Not sent: the question is answered.")).to_be_visible()
    expect(page.get_by_label("Your message")).to_have_value("blue")
    expect(page.locator(".bubble.you")).to_have_text(["Paint the gate.", "red"])
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your answer to asker")).to_have_value("")
    expect(page.locator(".bubble.you")).to_have_text(["Paint the gate.", "red", "blue"])
    page.get_by_role("button", name="Stop").click()
    over(page, 2)
    assert client.inbox() == []


def test_a_run_is_stopped_and_a_failed_one_retried_or_said_again(opened: Opening, talk: Shop) -> None:
    page = opened(f"{talk.url}/#/chat/clerk")
    client = talk.client
    say(page, "count to 1000")
    expect(page.locator("[data-live]")).to_contain_text("word2")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("It was stopped")).to_be_visible()
    expect(page.locator(".bubble.said")).to_have_count(0)
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    [stopped] = client.runs(status="cancelled", task="clerk").items
    assert stopped.message["content"] == "count to 1000"

    fault = ScriptedFault(status=400, message="this model is closed")
    talk_model.failures.extend([fault, fault])
    say(page, "Are you there?")
    expect(page.get_by_text("this model is closed")).to_be_visible()
    page.get_by_role("button", name="Say it again").last.click()
    expect(page.get_by_label("Your message")).to_have_value("Are you there?")
    expect(page.get_by_label("Your message")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("this model is closed")).to_have_count(2)
    page.get_by_role("button", name="Retry").last.click()
    expect(page.get_by_text("this model is closed")).to_have_count(1)
    # The runs that were stopped and that failed left the session as it was.
    expect(page.locator(".bubble.said").last).to_have_text("clerkAre you there? You have said 1 things.")
    over(page, 3)


def test_a_lost_server_is_said_and_the_message_is_not_sent_twice(opened: Opening, talk: Shop) -> None:
    page = opened(f"{talk.url}/#/chat/clerk")
    client = talk.client
    expect(page.get_by_label("Your message")).to_be_focused()
    before = len(client.runs(task="clerk").items)

    def answer_gets_lost(route: Route) -> None:
        route.fetch()
        route.abort()

    intercept(page, "**/v1/runs?watch=true", answer_gets_lost)
    say(page, "Hello?")
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    expect(page.get_by_text("try again in a moment")).to_be_visible()
    expect(page.get_by_label("Your message")).to_have_value("Hello?")
    page.unroute("**/v1/runs?watch=true")
    page.get_by_role("button", name="Try again").click()
    over(page, 1)
    assert len(client.runs(task="clerk").items) == before + 1

    page = opened(f"{talk.url}/#/chat/nobody")
    expect(page.get_by_role("heading", name="There is no such task")).to_be_visible()


def test_a_conversation_that_waits_says_why(opened: Opening, talk: Shop) -> None:
    page = opened(f"{talk.url}/#/chat/cashier")
    client = talk.client
    say(page, "a vase")
    expect(page.get_by_role("link", name="Resolve it in the inbox.")).to_be_visible()
    [item] = client.inbox()
    run = client.resolve(item.id, "happened", "It is paid.")
    over(page, 1)
    assert answers(page) == ["cashier\nIt is paid."]
    client.pause("task", "cashier", reason="stocktaking")
    say(page, "a lamp")
    expect(page.get_by_text("stocktaking")).to_be_visible()
    client.resume("task", "cashier")
    expect(page.get_by_role("link", name="Resolve it in the inbox.")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    over(page, 2)
    until(lambda: not client.inbox(), "the inbox to be empty")
    assert present(client.run(run.id).result).content == "It is paid."


def test_what_is_typed_while_a_message_is_sent_stays(opened: Opening, talk: Shop) -> None:
    page = opened(f"{talk.url}/#/chat/clerk")
    field = page.get_by_label("Your message")
    with held(page, is_post) as message:
        say(page, "First.")
        message.wait()
        field.press_sequentially("Second")
        message.release()
        over(page, 1)
    expect(field).to_have_value("Second")
    expect(field).to_be_focused()
    expect(page.locator(".bubble.you")).to_have_text(["First."])

    # A message that cannot be sent comes back, before what was typed meanwhile.
    intercept(page, "**/v1/runs?watch=true", lambda route: route.abort())
    page.keyboard.press("Enter")
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    expect(field).to_have_value("Second")


def test_the_focus_stays_where_the_person_is_when_a_question_comes(opened: Opening, talk: Shop) -> None:
    page = opened(f"{talk.url}/#/chat/asker")
    with held(page, is_post) as message:
        say(page, "Paint the fence.")
        message.wait()
        link = page.get_by_role("navigation", name="Pages").get_by_role("link", name="Overview")
        link.focus()
        message.release()
        expect(page.get_by_label("Your answer to asker")).to_be_visible()
    expect(link).to_be_focused()
    page.get_by_role("button", name="Stop").click()
    over(page, 1)


def leave_for(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()


def test_an_answer_that_comes_after_the_chat_was_left_changes_no_other_page(opened: Opening, talk: Shop) -> None:
    page = opened(f"{talk.url}/#/chat/clerk")
    with held(page, is_post) as message:
        say(page, "An early one.")
        message.wait()
        leave_for(page, "Runs")
        address = page.url
        message.release()
        expect(page.locator(".runs-row").first).to_contain_text("An early one.")
    assert page.url == address

    # Nor the next session, which is begun meanwhile. The old one is in the list.
    leave_for(page, "Chat")
    page.get_by_role("link", name="clerk").first.click()
    field = page.get_by_label("Your message")
    sessions = page.get_by_role("navigation", name="Sessions of this tab")
    expect(sessions).to_contain_text("An early one.")
    with held(page, is_post) as message:
        say(page, "A late one.")
        message.wait()
        page.get_by_role("button", name="New session").click()
        expect(field).to_have_value("")
        field.fill("For a new session.")
        message.release()
        expect(sessions).to_contain_text("A late one.")
    expect(field).to_have_value("For a new session.")
    assert page.url == f"{talk.url}/#/chat/clerk"


def test_a_message_that_fails_after_the_chat_was_left_is_told_and_kept(opened: Opening, talk: Shop) -> None:
    page = opened(f"{talk.url}/#/chat/clerk")
    client = talk.client
    before = len(client.runs(task="clerk").items)
    lost: list[Route] = []

    def answer_gets_lost(route: Route) -> None:
        route.fetch()
        lost.append(route)

    intercept(page, "**/v1/runs?watch=true", answer_gets_lost)
    say(page, "A long and careful message.")
    until(lambda: page.evaluate("true") and lost, "the message to be sent")
    leave_for(page, "Inbox")
    lost.pop().abort()
    expect(page.locator(".toasts")).to_contain_text("Not sent:")
    expect(page.locator(".toasts")).to_contain_text("kept as a draft in the chat")
    page.unroute("**/v1/runs?watch=true")

    leave_for(page, "Chat")
    page.get_by_role("link", name="asker").click()
    expect(page.get_by_label("Your message")).to_have_value("")
    page.get_by_label("Task", exact=True).select_option("clerk")
    expect(page.get_by_label("Your message")).to_have_value("A long and careful message.")
    # The server had taken it. Sent again it is the same run.
    over(page, 1)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your message")).to_have_value("")
    over(page, 1)
    assert len(client.runs(task="clerk").items) == before + 1
