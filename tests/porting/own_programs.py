"""Our own programs in the style of the examples, with their scripts."""

from __future__ import annotations

from pathlib import Path

from .program import Call, Program, Speaker

FOLDER = Path(__file__).parent / "own"

SUMS = Program(
    path="sums.py",
    input=["Hello", "2 and 3", "thanks"],
    speakers=[
        Speaker(
            system="Add.",
            says=["Which?", Call(tool="sum_up", arguments={"first": 2, "second": 3}), "It is 5.", "DONE Goodbye."],
        )
    ],
    printed=[r"RESULT: (.*)"],
    distributed=True,
)
RELAY = Program(
    path="relay.py",
    speakers=[
        Speaker(system="Say the number.", says=["4", "7"]),
        Speaker(
            system="Double the number.",
            says=[
                Call(tool="answer_tool", arguments={"answer": 8}),
                Call(tool="answer_tool", arguments={"answer": 14}),
            ],
        ),
    ],
    printed=[r"RESULT: (.*)"],
)
VISITS = Program(
    path="visits.py",
    speakers=[Speaker(system="Receive visitors.", says=["Welcome, Ann.", "Ann was here."])],
    printed=[r"RESULT: (.*)"],
)
ALL = (SUMS, RELAY, VISITS)
