"""Every page for everyone: nothing grave for axe, in light, dark and narrow; all by keyboard; and without motion."""

from __future__ import annotations

from playwright.sync_api import Page, expect
from tests.console.axe import grave_faults, loaded
from tests.console.conftest import Opening
from tests.console.world import Shop


def places(desk: Shop) -> list[str]:
    """The addresses of all pages, in the states that they can be in."""
    runs = [f"runs/{desk.runs[name]}" for name in ("completed", "question", "parked", "failed", "budget", "rejected")]
    return [
        "runs",
        "runs?status=failed",
        "runs?q=nothing-like-that",
        *runs,
        *(f"{runs[0]}?tab={tab}" for tab in ("timeline", "usage", "events", "result")),
        f"{runs[0]}/compare/{desk.runs['rejected']}",
        f"{runs[0]}/compare",
        "inbox",
        "chat",
        "chat/concierge?session=chat-3",
        "chat/support?session=customer-17",
        "tasks",
        "tasks/support",
        "overview",
        "administration",
        "nothing",
    ]


def test_axe_finds_nothing_grave_on_any_page(opened: Opening, desk: Shop) -> None:
    page = opened(desk.url, bypass_csp=True, reduced_motion="reduce", color_scheme="light")
    faults = []
    for place in places(desk):
        page.goto(f"{desk.url}/#/{place}")
        loaded(page)
        faults += grave_faults(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    faults += grave_faults(page)

    assert faults == [], "\n".join(faults)


def test_dark_pages_have_enough_contrast_and_narrow_ones_fit(opened: Opening, desk: Shop) -> None:
    narrow = {"width": 360, "height": 740}
    page = opened(desk.url, bypass_csp=True, reduced_motion="reduce", color_scheme="dark", viewport=narrow)
    faults = []
    for place in places(desk):
        page.goto(f"{desk.url}/#/{place}")
        loaded(page)
        faults += grave_faults(page, "color-contrast")
        if (width := page.evaluate("document.documentElement.scrollWidth")) > narrow["width"]:
            faults.append(f"{page.url} is {width} pixels wide")

    assert faults == [], "\n".join(faults)


def test_the_selected_tab_is_in_sight_on_a_narrow_screen(opened: Opening, desk: Shop) -> None:
    page = opened(f"{desk.url}/#/administration/audit", viewport={"width": 360, "height": 740})

    expect(page.get_by_role("tab", name="Audit log")).to_be_in_viewport(ratio=1)

    page.get_by_role("tab", name="Audit log").press("Home")
    expect(page.get_by_role("tab", name="Keys")).to_be_in_viewport(ratio=1)


def test_a_whole_conversation_and_an_answer_need_no_mouse(opened: Opening, desk: Shop) -> None:
    page = opened(desk.url)
    loaded(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(page.get_by_role("heading", name="Chat")).to_be_visible()
    # From the page's start, Tab comes to each task in turn.
    expect(page.get_by_role("link", name="concierge")).to_be_visible()
    _tab_to(page, "concierge")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your message")).to_be_focused()
    page.keyboard.type("Where is my order 4713?")
    page.keyboard.press("Enter")
    expect(page.locator(".bubble.you")).to_have_text("Where is my order 4713?")
    # Nothing holds the focus: it comes out of the field, and back to the start of the page.
    expect(page.get_by_label("Your answer to Concierge")).to_be_visible()
    _tab_to(page, "Stop")
    page.keyboard.press("Enter")
    expect(page.get_by_text("It was stopped")).to_be_visible()
    page.keyboard.press("Escape")
    _tab_to(page, "Skip to the content")
    for key, heading in (("r", "Runs"), ("i", "Inbox"), ("t", "Tasks"), ("o", "Overview"), ("a", "Administration")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page.get_by_role("heading", name=heading, level=1)).to_be_visible()
        expect(page.locator("main")).to_be_focused()


def test_nothing_moves_for_those_who_want_no_motion(opened: Opening, desk: Shop) -> None:
    page = opened(f"{desk.url}/#/runs/{desk.runs['running']}", reduced_motion="reduce")
    loaded(page)
    expect(page.locator(".badge.active").first).to_be_visible()
    page.goto(f"{desk.url}/#/runs")
    expect(page.locator(".badge.active").first).to_be_visible()

    longest = page.evaluate(
        "Math.max(0, ...document.getAnimations().map(one => one.effect.getComputedTiming().endTime))"
    )

    assert longest < 1


def _tab_to(page: Page, name: str) -> None:
    """Press Tab until something with that text or label has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        told = page.evaluate(
            "`${document.activeElement.getAttribute('aria-label') ?? ''} ${document.activeElement.innerText}`"
        )
        if name in told:
            return
    raise AssertionError(f"Tab never comes to {name!r}")
