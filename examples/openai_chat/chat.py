"""A chat in the terminal, written for OpenAI: `python chat.py`. Only its address makes it talk with `restaurant.py`.

TURNWISE_URL names a server elsewhere, TURNWISE_API_KEY is a key of it. Ctrl-D leaves.
"""

from __future__ import annotations

import os

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam

URL = os.environ.get("TURNWISE_URL", "http://127.0.0.1:8080")
KEY = os.environ.get("TURNWISE_API_KEY", "none")


def main() -> None:
    """Send the conversation so far with each message; a question of the host is answered by the next one."""
    said: list[ChatCompletionMessageParam] = []
    with OpenAI(base_url=f"{URL}/v1", api_key=KEY) as client:
        print(f"At the door: {', '.join(model.id for model in client.models.list())}")
        while True:
            try:
                text = input("You: ")
            except EOFError:
                print()
                return
            said.append({"role": "user", "content": text})
            answer = ""
            print("Host: ", end="")
            for chunk in client.chat.completions.create(model="host", messages=said, stream=True):
                piece = chunk.choices[0].delta.content or "" if chunk.choices else ""
                print(piece, end="", flush=True)
                answer += piece
            print()
            said.append({"role": "assistant", "content": answer})


if __name__ == "__main__":
    main()
