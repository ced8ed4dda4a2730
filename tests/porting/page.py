"""The page of the docs, written from the results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .outcome import Compared, Outcome, Results

RESULTS = Path(__file__).parent / "results.json"
PAGE = Path(__file__).parents[2] / "docs" / "porting-examples.md"

_HEAD = """\
# Ported programs

The programs below are examples of [Langroid](https://github.com/langroid/langroid), the reference. Each was played
twice, as a process of its own: as it is, with Langroid, and with one change, on Turnwise. The change is the word
`langroid` in its imports, which becomes `turnwise.langroid`. The models were played from a script by a server that
speaks the chat-completions API, and the human from another, over standard input. Every request that a model got was
recorded and compared.

| | |
| --- | --- |
| date | {date} |
| Langroid | {reference} |
| Turnwise | {turnwise} |
| Python | {python} |
| programs | {count} |
| port with the one step | {ports} of {count} |
| same conversation in a script | {script} of {count} |
| same conversation embedded | {embedded} |
| same conversation distributed | {distributed} |

## Which programs

All programs in the folders `basic`, `quick-start`, `extract`, `mcp`, `privacy`, `reasoning` and `summarize` of the
examples that need nothing but a model that speaks chat completions. These are left out:

- programs that need `DocChatAgent` (`multi-agent-debate` and `multi-agent-triage`, too), SQL, a graph database,
  Chainlit, a screen, a PDF parser, OpenAI's assistants or the old completions API;
- programs that need a service on the internet or an account: Azure, MiniMax, LangDB, Portkey, a web search, an MCP
  server that has to be downloaded, a data set. `multi-agent-search-critic` is kept; a small module stands in for
  its search client, on both sides;
- modules that only other programs import;
- `multi-agent-search-critic-no-orch`, which the reference itself does not bring to an end.

## The comparison

- **Ports**: the program starts, and ends as it does with the reference: well, or with the same kind of error (for
  instance at the end of its input).
- **Script**: the requests, one by one: the model, the messages (role, text, calls and what they answer), the tools,
  the choice of a tool and the response format. Of what the program prints, its result, where it prints one.
- **Embedded**: every `Task.run` of the program is a run that a server in its process serves from SQLite. Messages and
  the human's answers go over HTTP; a run that begins with no message, or with a value that is no text, is put on the
  record. The requests are compared with those of the reference.
- **Distributed**: the same for a sample, with a gateway, a coordinator and a worker as processes of their own on
  PostgreSQL and RabbitMQ. Each process finds the task by running the program up to its first `Task.run`.

These make no difference:

- Ids: they are numbered in the order in which they come up. The requests of a batch have no order, and one that the
  reference's client sends again, as its connection ended with an event loop, counts once.
- How long an answer may be, how it is drawn, and whether it is streamed. The default temperature and token limit
  differ: Langroid sends 0.2 and `max_completion_tokens`; Turnwise sends no temperature, and `max_tokens`.
- The `name` of a message. It is not compared.
- What each side says in words of its own: how to use tools (below what the program says, in the system message), what
  built-in tools are for, that a recipient is missing, and a first user message that the reference's client adds where
  only a system message is there. So are spaces at the ends of a system message.
- The default model, where a program names none.
- An empty text beside tool calls and none; the tool's name within the arguments of its call, or not.

The reference had a stand-in for tiktoken's encodings, which it downloads when it is imported.

A dash stands for what was not run: not in the sample, or for the reason in the notes.

## Results

| program | requests | ports | script | embedded | distributed |
| --- | ---: | --- | --- | --- | --- |
"""

_TAIL = """
## Repeat it

It takes a checkout of the reference's examples, an environment with the reference, and one with Turnwise
(`.[dev]`); both need what the programs import (`fire fastmcp numpy pandas python-dotenv requests`):

```bash
python -m tests.porting --reference ref/bin/python --examples langroid/examples --distributed --write
```

`--only WORD` plays the programs whose path has the word, and prints the first differences. Tests keep this page equal
to what was measured, in `tests/porting/results.json`.
"""


def render(results: Results) -> str:
    """The page as Markdown."""
    outcomes = results.outcomes
    head = _HEAD.format(
        date=results.date,
        reference=results.reference,
        turnwise=results.turnwise,
        python=results.python,
        count=len(outcomes),
        ports=_equal(outcome.ports for outcome in outcomes),
        script=_equal(outcome.script for outcome in outcomes),
        embedded=_of_run(outcome.embedded for outcome in outcomes),
        distributed=_of_run(outcome.distributed for outcome in outcomes),
    )
    return head + "".join(_row(outcome) for outcome in outcomes) + _notes(outcomes) + _TAIL


def _row(outcome: Outcome) -> str:
    cells = (outcome.ports, outcome.script, outcome.embedded, outcome.distributed)
    return f"| `{outcome.path}` | {outcome.requests} | " + " | ".join(map(_word, cells)) + " |\n"


def _word(compared: Compared) -> str:
    return {True: "yes", False: "**no**", None: "-"}[compared.equal]


def _equal(compared: Iterable[Compared]) -> int:
    return sum(bool(one.equal) for one in compared)


def _of_run(compared: Iterable[Compared]) -> str:
    run = [one for one in compared if one.equal is not None]
    return f"{_equal(run)} of {len(run)}"


def _notes(outcomes: Iterable[Outcome]) -> str:
    lines = [line for outcome in outcomes for line in _lines(outcome)]
    return "\n## Notes\n\n" + "".join(lines) if lines else ""


def _lines(outcome: Outcome) -> list[str]:
    found = {"does not port": outcome.ports, "script": outcome.script, "embedded": outcome.embedded}
    said = [f"- `{outcome.path}`, {word}: {one.why}\n" for word, one in found.items() if one.why]
    if outcome.distributed.equal is False:
        said.append(f"- `{outcome.path}`, distributed: {outcome.distributed.why}\n")
    if outcome.remark:
        said.append(f"- `{outcome.path}`: {outcome.remark}\n")
    return said


def main() -> None:
    """Write the page anew from the results that there are."""
    PAGE.write_text(render(Results.model_validate_json(RESULTS.read_text("utf-8"))), "utf-8")


if __name__ == "__main__":
    main()
