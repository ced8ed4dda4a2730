"""Settings of Langroid in `turnwise.langroid`: what is accepted without effect, and what stays an error."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel
from tests.support.served_parts import Desk

import turnwise
import turnwise.langroid as lr
import turnwise.langroid.language_models as lm
from turnwise import App
from turnwise.errors import ConfigurationError
from turnwise.langroid.agent.tools.orchestration import AgentDoneTool
from turnwise.langroid.utils import configuration
from turnwise.messages.return_value import value_of_type
from turnwise.messages.wire import decode_document
from turnwise.observability import display
from turnwise.porting import NoEffectWarning, notice
from turnwise.porting import display as ported_display
from turnwise.porting import settings as ported
from turnwise.porting.entries import SETTINGS
from turnwise.record.store import Store


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice, "_told", set())
    monkeypatch.setattr(ported_display, "_kept", configuration.Settings())
    monkeypatch.setattr(display, "_global", display.Settings())


def told(do: Callable[[], object]) -> list[str]:
    """The warnings of a piece of program; each has to point into this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        do()
    assert {warning.filename for warning in caught} <= {__file__}
    assert {warning.category for warning in caught} <= {NoEffectWarning}
    return [str(warning.message) for warning in caught]


# --- accepted --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "sentence"), [(kind, name, text) for kind, them in SETTINGS.items() for name, text in them.items()]
)
def test_a_setting_without_effect_is_accepted_with_one_warning_and_stays_an_error_natively(
    kind: str, name: str, sentence: str
) -> None:
    ours: Any = configuration.Settings if kind == "Settings" else getattr(ported, kind)
    value = ours.model_fields[name].get_default()

    assert told(lambda: ours(**{name: value})) == [f"the setting {name!r} has no effect in Turnwise: {sentence}"]
    assert told(lambda: ours(**{name: value})) == []
    with pytest.raises(ConfigurationError, match=name):
        getattr(turnwise, kind)(**{name: value})


def test_the_settings_of_the_table_are_those_that_the_classes_have_without_effect() -> None:
    for kind, them in SETTINGS.items():
        ours = configuration.Settings if kind == "Settings" else getattr(ported, kind)
        native = getattr(turnwise, kind)
        assert set(ours.model_fields) - set(native.model_fields) == set(them), kind


def test_a_setting_that_nobody_knows_is_an_error_in_both() -> None:
    with pytest.raises(ConfigurationError, match=r"'nam'; did you mean 'name'\?"):
        lr.ChatAgentConfig(nam="x")  # type: ignore[call-arg]
    with pytest.raises(ConfigurationError, match="SSL_CERT_FILE"):
        lm.OpenAIGPTConfig(http_verify_ssl=False)  # type: ignore[call-arg]
    with pytest.raises(ConfigurationError, match="a model is named where it is used"):
        configuration.Settings(chat_model="gpt-4o")  # type: ignore[call-arg]


def test_a_setting_given_later_or_by_a_class_of_the_program_is_told_of_as_well() -> None:
    config = lr.ChatAgentConfig()

    def later() -> None:
        config.show_stats = False

    def by_class() -> None:
        class Config(lr.ChatAgentConfig):
            hide_agent_response: bool = True
            city: str = "Rome"

        assert Config(city="Oslo").hide_agent_response

    assert ["'show_stats'" in text for text in told(later)] == [True]
    assert not config.show_stats
    assert ["'hide_agent_response'" in text for text in told(by_class)] == [True]


def test_settings_without_effect_are_not_written_down() -> None:
    with pytest.warns(NoEffectWarning):
        config = lm.OpenAIGPTConfig(cache_config=None, async_stream_quiet=True, seed=3)

    assert config.async_stream_quiet
    assert config.model_dump(exclude_unset=True) == {"seed": 3}
    assert "async_stream_quiet" not in repr(config)


def test_no_greatest_length_of_an_answer_stands_for_the_default() -> None:
    longest: Any = None
    assert lm.OpenAIGPTConfig(max_output_tokens=longest).max_output_tokens == lm.OpenAIGPTConfig().max_output_tokens


# --- classes ---------------------------------------------------------------------------------------------------------


def test_settings_are_thin_subclasses_and_everything_else_is_the_same_object() -> None:
    for name in ("AgentConfig", "AzureConfig", "ChatAgentConfig", "LLMConfig", "MockLMConfig", "OpenAIGPTConfig"):
        assert issubclass(getattr(ported, name), getattr(turnwise, name))
    assert lr.Task is turnwise.Task
    assert lr.ChatAgent is turnwise.ChatAgent
    assert isinstance(lm.OpenAIGPTConfig(), lm.LLMConfig)
    assert isinstance(lr.ChatAgentConfig(), ported.AgentConfig)


@pytest.mark.parametrize("name", ["AgentConfig", "ChatAgentConfig", "LLMConfig", "MockLMConfig", "OpenAIGPTConfig"])
def test_defaults_are_those_of_the_native_settings(name: str) -> None:
    native = getattr(turnwise, name)().model_dump()
    assert getattr(ported, name)().model_dump() == native


def test_an_agent_without_settings_of_a_model_has_the_default_ones() -> None:
    config = lr.ChatAgentConfig()

    assert isinstance(config.llm, lm.OpenAIGPTConfig)
    assert config.llm.chat_model == turnwise.OpenAIGPTConfig().chat_model


def test_native_settings_and_those_of_the_package_are_taken_by_each_other() -> None:
    native = turnwise.MockLMConfig(default_response="DONE native")
    same = lm.MockLMConfig(default_response="DONE package")

    assert (
        lr.Task(lr.ChatAgent(lr.ChatAgentConfig(llm=native)), interactive=False).run("go", return_type=str) == "native"
    )
    agent = turnwise.ChatAgent(turnwise.ChatAgentConfig(llm=same))
    assert turnwise.Task(agent, interactive=False).run("go", return_type=str) == "package"


class TownConfig(lr.ChatAgentConfig):
    town: str = "Rome"


def test_settings_can_be_pickled_and_copied() -> None:
    config = TownConfig(town="Oslo", llm=lm.MockLMConfig())

    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301 - of this test's own making
    assert config.model_copy(update={"town": "Bern"}).town == "Bern"


# --- the process's settings ------------------------------------------------------------------------------------------


def test_the_settings_of_the_process_reach_the_native_ones_and_the_rest_can_be_read_again() -> None:
    texts = told(lambda: configuration.set_global(configuration.Settings(debug=True, cache=False, max_turns=7)))

    assert [text.split(" has")[0] for text in texts] == ["the setting 'debug'", "the setting 'cache'"]
    assert turnwise.settings.max_turns == 7
    assert (configuration.settings.debug, configuration.settings.cache) == (True, False)
    assert (configuration.settings.max_turns, configuration.settings.stream) == (7, True)


def test_settings_are_set_one_by_one() -> None:
    def program() -> None:
        configuration.settings.cache_type = "fakeredis"
        configuration.settings.quiet = True

    assert len(told(program)) == 1
    assert configuration.settings.cache_type == "fakeredis"
    assert turnwise.settings.quiet
    with pytest.raises(ConfigurationError, match="colour"):
        configuration.settings.colour = "red"


def test_settings_for_a_block_hold_for_the_block() -> None:
    with pytest.warns(NoEffectWarning):
        temporary = configuration.Settings(debug=True, quiet=True)

    with configuration.temporary_settings(temporary):
        assert (configuration.settings.debug, turnwise.settings.quiet) == (True, True)
    assert (configuration.settings.debug, turnwise.settings.quiet) == (False, False)
    with configuration.quiet_mode():
        assert configuration.settings.quiet


# --- served ----------------------------------------------------------------------------------------------------------


class Answer(BaseModel):
    number: int


class Square(lr.ToolMessage):
    request: str = "square"
    purpose: str = "To square <number>."
    number: int

    def handle(self) -> AgentDoneTool:
        return AgentDoneTool(content=Answer(number=self.number**2))


def test_a_program_of_the_package_is_served_like_any_other(store: Store) -> None:
    app = App("ported")

    @app.task
    def squares() -> lr.Task:
        llm = lm.MockLMConfig(default_response='{"request": "square", "number": 7}')
        agent = lr.ChatAgent(TownConfig(name="squares", llm=llm))
        agent.enable_message(Square)
        return lr.Task(agent, interactive=False)

    with Desk(store, app) as desk:
        run = desk.go_on(desk.submit("squares"))

    assert run.result is not None
    assert value_of_type(decode_document(run.result, {}), Answer) == Answer(number=49)


def test_a_setting_without_effect_that_the_program_did_not_give_says_why_it_is_not_there() -> None:
    with pytest.warns(NoEffectWarning):
        from turnwise.langroid.parsing.parser import ParsingConfig

    class Mine(ParsingConfig):
        pass

    assert copy.deepcopy(ParsingConfig(chunk_size=3)).chunk_size == 3
    for config in (ParsingConfig(), Mine()):
        with pytest.raises(AttributeError, match=r"'chunk_size'.*split their texts by `split_text`"):
            config.chunk_size  # noqa: B018  # reading it is what fails


def test_a_setting_of_the_process_that_does_not_exist_is_refused_when_it_is_set() -> None:
    with pytest.raises(ConfigurationError, match=r"'chat_model'; a model is named where it is used"):
        configuration.settings.chat_model = "x"
    with pytest.raises(ConfigurationError, match=r"'chat_model'; expected one of: max_turns, quiet"):
        turnwise.settings.chat_model = "x"
    with pytest.raises(ConfigurationError, match="'max_turn'; did you mean 'max_turns'"):
        turnwise.Settings().max_turn = 3  # type: ignore[attr-defined]
