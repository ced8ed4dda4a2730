"""The OpenAI door says the same in one process and over several: each answer has a digest of all that its model saw."""

from __future__ import annotations

import openai
from openai.types.chat import ChatCompletionMessageParam
from tests.e2e.installation import Distributed, Embedded

EARLIER: list[ChatCompletionMessageParam] = [
    {"role": "user", "content": "Is it far?"},
    {"role": "assistant", "content": "No."},
    {"role": "user", "content": "Then wait."},
]


def _talk(url: str) -> list[str]:
    """Answers in a conversation with two questions, and after one that was held elsewhere."""
    said: list[ChatCompletionMessageParam] = []
    heard: list[str] = []
    runs: list[str] = []
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", timeout=60, max_retries=0) as client:
        for text in ("I need chairs.", "blue", "large"):
            said.append({"role": "user", "content": text})
            with client.chat.completions.with_streaming_response.create(
                model="order", messages=said, stream=True
            ) as response:
                runs.append(response.headers["x-run-id"])
                pieces = [chunk.choices[0].delta.content or "" for chunk in response.parse()]
            heard.append("".join(pieces))
            said.append({"role": "assistant", "content": heard[-1]})
        assert len(set(runs)) == 1
        made = client.chat.completions.create(model="patient", messages=EARLIER)
        first = client.responses.create(model="patient", input="Then wait.")
        again = client.responses.create(model="patient", input="And again.", previous_response_id=first.id)
    return [*heard, made.choices[0].message.content or "", first.output_text, again.output_text]


def test_a_conversation_over_the_door_is_the_same_everywhere(embedded: Embedded, distributed: Distributed) -> None:
    here, there = _talk(embedded.url), _talk(distributed.url)

    assert here == there
    assert [text.partition(" [")[0] for text in here] == [
        "Which colour do you want?",
        "And which size?",
        "it is ordered",
        *["it was worth the wait"] * 3,
    ]
    assert len(set(here)) == len(here)
