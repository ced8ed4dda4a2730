"""The table of Langroid's names: each resolves, or says what there is instead."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest

import turnwise
import turnwise.langroid as lr
from turnwise.errors import AbsentAttributeError, AbsentNameError
from turnwise.porting import NoEffectWarning, notice
from turnwise.porting.entries import SETTINGS, NameEntry, entries, find, native_name
from turnwise.porting.generate import sources

DATA = Path(__file__).parents[2] / "data"


def listed(file: str) -> list[str]:
    """The paths of a list, without `langroid.`."""
    lines = (DATA / file).read_text().splitlines()
    return [line.removeprefix("langroid").lstrip(".") for line in lines if not line.startswith("#")]


USED = listed("langroid_paths.txt")
HOME = Path(lr.__file__).parent


def resolved(path: str) -> object:
    """The thing behind a dotted path below `turnwise.langroid`, by attributes alone."""
    thing: object = lr
    for part in filter(None, path.split(".")):
        thing = getattr(thing, part)
    return thing


def of_kind(kind: str) -> list[NameEntry]:
    return [entry for entry in entries() if entry.kind == kind]


def names(kind: str) -> list[tuple[str, str]]:
    """Module below `turnwise.langroid` and name of the entries of a kind."""
    return [(entry.path.rpartition(".")[0], entry.path.rpartition(".")[2]) for entry in of_kind(kind)]


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice, "_told", set())


# --- entries ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::turnwise.porting.NoEffectWarning")
@pytest.mark.filterwarnings("ignore::pydantic.PydanticDeprecatedSince20")
@pytest.mark.parametrize("entry", [*of_kind("ours"), *of_kind("accepted")], ids=lambda entry: entry.path)
def test_a_name_is_the_thing_that_the_table_says(entry: NameEntry) -> None:
    module, _, attribute = entry.target.partition(":")
    assert resolved(entry.path) is getattr(import_module(module), attribute)


@pytest.mark.parametrize("entry", of_kind("module"), ids=lambda entry: entry.path)
def test_a_module_can_be_imported_and_lists_its_names(entry: NameEntry) -> None:
    module = import_module(f"turnwise.langroid.{entry.path}".rstrip("."))

    assert resolved(entry.path) is module
    assert set(getattr(module, "__all__", ())) <= set(dir(module))


@pytest.mark.parametrize("entry", of_kind("absent"), ids=lambda entry: entry.path)
def test_an_absent_name_says_at_its_import_what_there_is_instead(entry: NameEntry) -> None:
    module, _, name = f"turnwise.langroid.{entry.path}".rpartition(".")

    with pytest.raises(AbsentNameError) as refused:
        exec(f"from {module} import {name}")  # noqa: S102 - the import of a program
    assert isinstance(refused.value, ImportError)
    assert str(refused.value) == f"langroid.{entry.path} does not exist in Turnwise: {entry.sentence}"


def test_a_name_of_an_absent_module_is_refused_with_the_modules_sentence() -> None:
    with pytest.raises(AbsentNameError, match=r"vecdb=SqliteVectorConfig.*RetrievalTool"):
        from turnwise.langroid.agent.special.doc_chat_agent import DocChatAgent  # type: ignore[import-not-found]  # noqa: F401
    with pytest.raises(AbsentNameError, match="MCPTools"):
        import turnwise.langroid.agent.special.sql.sql_chat_agent  # type: ignore[import-not-found]  # noqa: F401


def test_an_absent_name_used_as_an_attribute_is_an_attribute_error_with_the_same_sentence() -> None:
    with pytest.raises(AbsentAttributeError, match="vecdb=SqliteVectorConfig") as refused:
        lr.agent.special.DocChatAgent  # type: ignore[attr-defined]  # noqa: B018
    assert isinstance(refused.value, AttributeError)
    assert not hasattr(lr, "ChainlitTaskCallbacks")


def test_an_unknown_name_is_an_error_as_in_any_module() -> None:
    with pytest.raises(AttributeError, match=r"turnwise\.langroid.*no_such_name"):
        lr.no_such_name  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match="no_such_name"):
        from turnwise.langroid.agent.task import no_such_name  # type: ignore[attr-defined]  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import turnwise.langroid.no_such_module  # type: ignore[import-not-found]  # noqa: F401


@pytest.mark.filterwarnings("ignore::turnwise.porting.NoEffectWarning")
@pytest.mark.parametrize("path", USED)
def test_every_path_that_the_examples_of_langroid_use_is_in_the_table(path: str) -> None:
    entry, known = find(path), path
    while entry is None and known:
        known = known.rpartition(".")[0]
        entry = find(known)
    assert entry is not None
    assert known == path or entry.kind in ("ours", "accepted"), f"{path} is not in the table"
    if entry.kind != "absent":
        assert resolved(path) is not None


def test_every_public_name_of_langroids_modules_is_in_the_table() -> None:
    assert [path for path in listed("langroid_names.txt") if find(path) is None] == []


def test_sentences_are_phrases_that_follow_a_colon() -> None:
    sentences = {entry.sentence for entry in [*of_kind("absent"), *of_kind("accepted")]}
    sentences |= {text for settings in SETTINGS.values() for text in settings.values()}

    assert all(text and not text.endswith(".") and not text[0].isupper() for text in sentences)


def test_the_native_name_of_a_name_is_the_one_at_the_top_level() -> None:
    task, config = find("agent.task.Task"), find("ChatAgentConfig")

    assert task is not None and task.native == "turnwise.Task"
    assert config is not None and config.native == "turnwise.ChatAgentConfig"
    assert native_name("pydantic:BaseModel") == "pydantic.BaseModel"
    assert native_name("turnwise.porting.helpers:closest_string") == ""
    natives = {entry.native for entry in of_kind("ours") if entry.native.startswith("turnwise.")}
    assert all(hasattr(turnwise, name.removeprefix("turnwise.")) for name in natives if name.count(".") == 1)


# --- the package -----------------------------------------------------------------------------------------------------


def test_the_modules_are_those_of_the_table() -> None:
    written = {str(file.relative_to(HOME)): file.read_text() for file in HOME.rglob("*.py")}

    assert written == sources(), "run `python -m turnwise.porting.generate`"


def test_importing_the_package_and_the_table_loads_nothing() -> None:
    program = (
        "import sys, json; before = set(sys.modules); import turnwise.langroid, turnwise.porting.entries;"
        "print(json.dumps(sorted(name for name in set(sys.modules) - before if not name.startswith('turnwise'))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert not {"pydantic", "openai", "httpx2", "rich"} & set(json.loads(done.stdout))


def test_the_warning_of_an_accepted_name_is_told_once_and_at_the_programs_line() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lr.cachedb.redis_cachedb.__dict__.pop("RedisCacheConfig", None)
        lr.cachedb.redis_cachedb.RedisCacheConfig(fake=True)
        lr.cachedb.redis_cachedb.__dict__.pop("RedisCacheConfig", None)
        lr.cachedb.redis_cachedb.RedisCacheConfig(fake=True)

    assert [(warning.category, warning.filename) for warning in caught] == [(NoEffectWarning, __file__)]
    assert "langroid.cachedb.redis_cachedb.RedisCacheConfig has no effect in Turnwise" in str(caught[0].message)
