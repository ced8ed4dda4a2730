"""The overview: the work over time, queues, processes, providers and spenders."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect
from tests.console.conftest import Opening
from tests.console.guarded import sign_in
from tests.console.world import Shop, is_asked, shop
from tests.e2e.waiting import until
from tests.support.access_parts import OWNER, world

from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task
from turnwise.record.tenants.caller import RUNS_READ

app = App("shop-desk", version="3")


@app.task
def concierge() -> Task:
    """A conversation with a model that may be asked twice a minute."""
    model = OpenAIGPTConfig(
        chat_model="helper-large", input_price=Decimal(12), output_price=Decimal(48), requests_per_minute=2
    )
    config = ChatAgentConfig(name="Concierge", llm=model, system_message="You are Concierge.")
    return Task(ChatAgent(config), interactive=True)


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A server of which samples are taken, and a run that waits for its provider."""
    with shop(tmp_path_factory.mktemp("overview"), application=app, sample_seconds=1, sweep_seconds=0.2) as made:
        until(lambda: made.client.series().points, "the first sample")
        for name in ("one", "two"):
            made.submit(name, "concierge", "Hello")
            made.reaches(name, is_asked)
        made.submit("late", "concierge", "Hello")
        made.reaches("late", is_asked)
        until(lambda: sum(point.turns for point in made.client.series().points) >= 2, "samples of the turns")
        yield made


@pytest.fixture
def page(busy: Shop, opened: Opening) -> Page:
    return opened(f"{busy.url}/#/overview")


def test_the_work_over_time_is_drawn(page: Page, busy: Shop) -> None:
    figures = page.locator(".overview-figures")
    expect(figures).to_contain_text("Waiting now3")
    expect(figures).to_contain_text("For a human2")
    for title in ("Turns per second", "Tokens per minute", "Cost per hour", "Unfinished runs"):
        expect(page.get_by_role("figure", name=title).locator("canvas")).to_be_visible()
    chart = page.get_by_role("figure", name="Unfinished runs")
    expect(chart.get_by_role("listitem").filter(has_text="Waiting")).to_have_text("Waiting 3")

    # The choice is in the address, and so is kept.
    page.get_by_label("Time", exact=True).select_option("15 minutes")
    expect(page).to_have_url(f"{busy.url}/#/overview?time=15m")
    # Charts are drawn anew in other colours.
    page.get_by_role("button", name="Colours: ").click()
    expect(page.get_by_role("figure", name="Turns per second").locator("canvas")).to_be_visible()


def test_who_waits_for_a_provider_and_who_spends_is_shown(page: Page, busy: Shop) -> None:
    providers = page.get_by_role("region", name="Provider limits")
    expect(providers).to_contain_text("No requests left")
    expect(providers).to_contain_text("2 of 2")
    expect(providers).to_contain_text("1 ask waits for it")
    expect(providers.get_by_role("link", name="default 1")).to_be_visible()
    page.get_by_label("Tenants", exact=True).select_option("My tenant")
    expect(providers.get_by_role("link")).to_have_attribute("href", f"#/runs/{busy.runs['late']}")

    spenders = page.get_by_role("region", name="Top spenders")
    expect(spenders.get_by_role("tabpanel")).to_contain_text("concierge")
    spenders.get_by_role("tab", name="Models").click()
    expect(spenders.get_by_role("tabpanel")).to_contain_text("helper-large")
    expect(spenders.get_by_role("tab", name="Tenants")).to_have_count(0)


def test_an_operator_sees_the_processes_and_pauses_a_queue(page: Page, busy: Shop) -> None:
    workers = page.get_by_role("table", name="Workers")
    expect(workers.get_by_role("row").filter(has_text="responders")).to_contain_text("Alive")
    queue = page.get_by_role("table", name="Queues").get_by_role("row").filter(has_text="agent")
    expect(queue).to_contain_text("Served")

    page.get_by_role("button", name="Pause the queue agent").click()
    dialog = page.get_by_role("dialog", name="Pause the queue agent?")
    dialog.get_by_label("Reason").fill("the bank is away")
    dialog.get_by_role("button", name="Pause").click()
    expect(queue).to_contain_text("Paused")
    [pause] = busy.client.pauses()
    assert (pause.kind, pause.name, pause.reason) == ("queue", "agent", "the bank is away")

    page.get_by_role("button", name="Resume the queue agent").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(queue).to_contain_text("Served")
    assert busy.client.pauses() == []


def test_another_tenant_sees_its_own_work_and_changes_nothing(
    opened: Opening, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with world(tmp_path_factory.mktemp("world")) as here:
        page = opened(f"{here.gateway.base_url}/#/overview")
        sign_in(page, here.key(OWNER, RUNS_READ)[1])

        # No coordinator works here, so there are no samples.
        expect(page.get_by_role("heading", name="No samples of this time")).to_be_visible()
        expect(page.get_by_text(f"The tenant {OWNER}")).to_be_visible()
        queue = page.get_by_role("table", name="Queues").get_by_role("row").filter(has_text="llm")
        expect(queue).to_contain_text("No worker")
        expect(page.get_by_role("button", name="Pause")).to_have_count(0)
        expect(page.get_by_role("table", name="Workers")).to_have_count(0)
        expect(page.get_by_label("Tenants", exact=True)).to_have_count(0)
