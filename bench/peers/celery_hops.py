"""Celery's ping-pong as a contender: `python -m bench.peers.celery_hops BROKER_URL`; a round of two hops is a turn."""

from __future__ import annotations

import argparse

from bench.counting import turns_of
from bench.peers import protocol
from bench.ping_pong import players


def main() -> None:
    """Play what is ordered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("broker_url")
    with players(parser.parse_args().broker_url) as game:

        def play(turns: int, conversations: int) -> dict[str, float]:
            return {"seconds": game.play([turns_of(turns)] * conversations)}

        settings = {"queues": "classic, durable", "messages": "persistent", "acknowledged": "before the task"}
        protocol.answer(play, settings=settings, packages=["celery"], pids=game.pids)


if __name__ == "__main__":
    main()
