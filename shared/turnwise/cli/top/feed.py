"""Snapshots that arrive by themselves, so that a slow gateway holds up no key."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from turnwise.cli.top.snapshot import FleetSnapshot, take_snapshot
from turnwise.errors import TurnwiseError

if TYPE_CHECKING:
    from turnwise.client import Client


class Feed:
    """Takes a snapshot every `seconds`, in a thread of its own; `file` becomes readable with each.

    `latest` is the last one, and `fault` says why there is no newer one.
    """

    def __init__(self, client: Client, first: FleetSnapshot, seconds: float) -> None:
        self.latest = first
        self.fault = ""
        self._client = client
        self._seconds = seconds
        self._filter = first.filter
        self._wanted = threading.Event()
        self._over = threading.Event()
        self.file, self._bell = os.pipe()
        threading.Thread(target=self._feed, name="turnwise-top", daemon=True).start()

    def want(self, filter: str) -> None:
        """Take the next snapshot at once, with the runs of that filter."""
        self._filter = filter
        self._wanted.set()

    def heard(self) -> None:
        """Take note of what `file` said."""
        os.read(self.file, 1024)

    def stop(self) -> None:
        """Take no more; a request that is under way is not waited for."""
        self._over.set()
        self._wanted.set()

    def _feed(self) -> None:
        while not self._over.is_set():
            self._wanted.wait(self._seconds)
            self._wanted.clear()
            if self._over.is_set():
                return
            try:
                self.latest = take_snapshot(self._client, filter=self._filter, fleet=self.latest.fleet)
                self.fault = ""
            except TurnwiseError as error:
                self.fault = f"No answer since {self.latest.at:%H:%M:%S} UTC: {error}"
            os.write(self._bell, b".")
