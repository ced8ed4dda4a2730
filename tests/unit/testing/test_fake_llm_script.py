"""Rules and scripts of the fake model."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnwise.errors import ConfigurationError
from turnwise.testing.fake_llm.answer import Answer
from turnwise.testing.fake_llm.request import ChatRequest
from turnwise.testing.fake_llm.rules import FakeLLM
from turnwise.testing.fake_llm.script import load_script
from turnwise.testing.fake_llm.wire import completion


def request(text: str, role: str = "user", system: str = "") -> ChatRequest:
    messages = [{"role": "system", "content": system}, {"role": role, "content": text}]
    return ChatRequest(model="turnwise-fake", messages=messages)


def answer(value: Answer | str) -> Answer:
    return Answer(content=value) if isinstance(value, str) else value


def test_the_first_rule_that_applies_answers() -> None:
    llm = FakeLLM(
        [
            {"match": "hi", "system": "clerk", "reply": "clerk"},
            {"match": "hi", "role": "tool", "reply": "tool"},
            {"match": "hi", "reply": "any"},
        ],
        default="default",
    )
    asked = [request("hi", system="a clerk"), request("hi", role="tool"), request("hi"), request("else")]
    assert [llm(item).content for item in asked] == ["clerk", "tool", "any", "default"]


def test_groups_fill_text_and_arguments() -> None:
    llm = FakeLLM(
        [
            {
                "match": r"pay (?P<who>\w+) (\d+)",
                "reply": {"content": "${who} gets $2, $9", "tool_calls": [{"name": "pay", "arguments": {"n": ["$2"]}}]},
            }
        ]
    )
    given = llm(request("pay Ann 50"))
    assert given.content == "Ann gets 50, $9"
    assert given.tool_calls[0].arguments == {"n": ["50"]}


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (
            '[{"match": "(?P<who>a)", "reply": "${whom}"}]',
            r":1: rules\.0: \$\{whom\} is the name of no group.*has: who",
        ),
        ('[{"match": "a", "reply": {"tool_calls": [{"name": "f", "arguments": {"n": ["${n}"]}}]}}]', r"\$\{n\}.*none"),
        ('{"default": "${x}"}', r":1: default: \$\{x\} is the name of no group"),
    ],
)
def test_a_name_that_no_group_has_is_refused(tmp_path: Path, script: str, told: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(script)

    with pytest.raises(ConfigurationError, match=told):
        load_script(path)


def test_a_call_has_the_id_that_the_script_gives_or_one_made_of_the_request() -> None:
    llm = FakeLLM([{"reply": {"tool_calls": [{"id": "c$1", "name": "pay"}, {"name": "pay"}]}, "match": "(\\d)"}])
    asked = request("pay 7")
    calls = completion(asked, llm(asked))["choices"][0]["message"]["tool_calls"]
    assert [call["id"] for call in calls] == ["c7", f"call_{asked.digest}_1"]


def test_uses_run_out() -> None:
    llm = FakeLLM([{"match": "", "reply": "first", "uses": 1}, {"match": "", "reply": "then"}])
    assert [llm(request("x")).content for _ in range(3)] == ["first", "then", "then"]


def test_a_json_script_may_be_a_list_or_an_object(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('[{"match": "a", "reply": "A"}]')
    assert answer(load_script(path)(request("a"))).content == "A"
    path.write_text('{"rules": [], "default": "D"}')
    assert answer(load_script(path)(request("a"))).content == "D"


def test_a_python_script_answers_with_its_function(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("def answer(request):\n    return request.last.upper()\n")
    assert answer(load_script(path)(request("abc"))).content == "ABC"


def test_a_module_is_a_script_by_its_name() -> None:
    stand_in = load_script("turnwise.demo.fake_model")

    assert "I am a stand-in" in (answer(stand_in(request("hello"))).content or "")


def test_a_module_that_is_not_installed_is_told() -> None:
    with pytest.raises(ConfigurationError, match=r"script turnwise\.demo\.nobody: expected .* the name of a module"):
        load_script("turnwise.demo.nobody")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.json", '[\n  {"match": }\n]', r"a\.json:2:13: not JSON"),
        (
            "a.json",
            '[\n  {"match": "a"},\n  {"match": "("}\n]',
            r"a\.json:3: rules\.1\.match: not a regular expression",
        ),
        ("a.json", '{"rules": [\n{"answer": "a"}]}', r"a\.json:2: rules\.0\.answer: Extra inputs"),
        ("a.json", "3", r"a\.json:1: script: "),
        ("a.py", "x = 1\n1 / 0\n", r"a\.py:2: the script fails to load: ZeroDivisionError"),
        ("a.py", "x = (\n", r"a\.py:1: the script fails to load: SyntaxError"),
        ("a.py", "x = 1\n", r"defines no function answer\(request"),
        ("a.txt", "", r"expected a \.json file of rules, a \.py file"),
    ],
)
def test_a_bad_script_is_told_with_its_place(tmp_path: Path, name: str, text: str, told: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=told):
        load_script(path)


def test_a_missing_script_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such file"):
        load_script(tmp_path / "none.json")
