"""Batches of calls at servers that have OpenAI's Files and Batch APIs; it loads `openai`.

Each batch has a name of ours in its metadata. So one whose submission was cut off is found again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import openai

from turnwise.errors import ModelUnavailableError
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.connections import process_connections
from turnwise.models.openai.errors import told_as_model_errors

logger = logging.getLogger(__name__)

_ENDPOINT: Final = "/v1/chat/completions"
# The name of ours in a batch's metadata.
_NAME = "turnwise_batch"
# Seconds by which a provider's clock may differ from the database's.
_SKEW = 3_600.0
_PAGE = 100
# From this status on, no one knows what the server has done.
_SERVER_ERRORS = 500
_ENDED = ("completed", "expired", "failed", "cancelled")

Connect = Callable[[OpenAIGPTConfig], AbstractContextManager[openai.OpenAI]]


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteBatch:
    """A batch as its provider tells of it. `error` says why it failed, `files` are those of its results."""

    id: str
    file_id: str
    status: str
    error: str | None = None
    files: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """Return whether it has a final status."""
        return self.status in _ENDED


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchLine:
    """The result of one call: the completion, or the `error`, with the HTTP status where there is one."""

    custom_id: str
    completion: Any = None
    error: str | None = None
    status: int | None = None


class RemoteBatches:
    """The batches of a provider, under the address and key of a client's settings.

    Each method raises `ModelError`. `connect` opens a connection for those settings, for the time of a `with` block.
    """

    def __init__(self, config: OpenAIGPTConfig, connect: Connect = process_connections.client) -> None:
        self._config, self._connect = config, connect

    def submit(self, name: str, calls: Iterable[tuple[str, dict[str, Any]]]) -> RemoteBatch:
        """Upload calls, each with a name of its own, and have a batch made of them.

        The file of a batch that is refused is deleted. After any other error, the file may be there, and the batch.
        """
        lines = (
            json.dumps({"custom_id": custom_id, "method": "POST", "url": _ENDPOINT, "body": body})
            for custom_id, body in calls
        )
        content = "".join(f"{line}\n" for line in lines).encode()
        with self._client() as client:
            file = _made(client.files.create(file=(_file_of(name), content), purpose="batch"), "file")
            try:
                batch = client.batches.create(
                    input_file_id=file.id, endpoint=_ENDPOINT, completion_window="24h", metadata={_NAME: name}
                )
            except openai.APIStatusError as error:
                if error.status_code < _SERVER_ERRORS:
                    self._delete(client, [file.id])
                raise
            return _remote(batch)

    def find(self, name: str, made_at: float) -> RemoteBatch | None:
        """The batch of that name, submitted after `made_at` (seconds since the epoch); None if there is none."""
        with self._client() as client:
            for batch in _listed(client.batches.list(limit=_PAGE)):
                if (batch.metadata or {}).get(_NAME) == name:
                    return _remote(batch)
                if batch.created_at < made_at - _SKEW:
                    break
        return None

    def clear(self, name: str, made_at: float) -> None:
        """Delete the files that were uploaded after `made_at` for a batch of that name, of which none was made."""
        found: list[str] = []
        with self._client() as client:
            try:
                for file in _listed(client.files.list(purpose="batch")):
                    if file.filename == _file_of(name):
                        found.append(file.id)
                    elif file.created_at < made_at - _SKEW:
                        break
            except openai.NotFoundError:  # it lists no files, and deletes them in its time
                pass
            except openai.APIStatusError as error:
                logger.warning(
                    "The provider of %s did not list its files, so %s may be left there: %s",
                    self._config.chat_model,
                    _file_of(name),
                    error,
                    extra={"action": "provider_files_left", "model": self._config.chat_model, "files": []},
                )
            self._delete(client, found)

    def look(self, batch_id: str) -> RemoteBatch | None:
        """The batch as it is now; None if its provider knows none of that id."""
        with self._client() as client:
            try:
                return _remote(client.batches.retrieve(batch_id))
            except openai.NotFoundError:
                return None

    def cancel(self, batch_id: str) -> None:
        """Have a batch end; what it has answered by then is in its files."""
        with self._client() as client, suppress(openai.ConflictError):
            client.batches.cancel(batch_id)

    def results(self, batch: RemoteBatch) -> Iterator[BatchLine]:
        """The results in the files of a batch that has ended."""
        for file_id in batch.files:
            with self._client() as client:
                # Not by the charset of a header, which may be wrong; and a mark of the order of bytes is no part of it.
                text = client.files.content(file_id).content.decode("utf-8-sig", "replace")
            # Not splitlines(): JSON text may hold characters such as U+2028 that it takes for line ends.
            for line in filter(None, text.split("\n")):
                if (found := _line(line)) is not None:
                    yield found

    def forget(self, batch: RemoteBatch) -> None:
        """Delete the files of a batch; those that are left are logged, and the provider deletes them in its time."""
        with self._connect(self._config) as client:
            self._delete(client, (batch.file_id, *batch.files))

    def _delete(self, client: openai.OpenAI, file_ids: Iterable[str]) -> None:
        """Delete files; one that is not there is no loss, and those that are left are in one line of the log."""
        left: dict[str, openai.OpenAIError] = {}
        for file_id in file_ids:
            try:
                client.files.delete(file_id)
            except openai.NotFoundError:
                pass
            except openai.OpenAIError as error:
                left[file_id] = error
        if left:
            logger.warning(
                "The provider of %s did not delete the files %s, which hold prompts or answers; delete them there: %s",
                self._config.chat_model,
                ", ".join(left),
                next(iter(left.values())),
                extra={"action": "provider_files_left", "model": self._config.chat_model, "files": list(left)},
            )

    @contextmanager
    def _client(self) -> Iterator[openai.OpenAI]:
        with told_as_model_errors(self._config), self._connect(self._config) as client:
            yield client


def _listed(page: Any) -> Iterator[Any]:
    """The items of a list, from this page on.

    A server may know nothing of `after`, and answer with its first page each time: nothing new is the end as well.
    """
    seen: set[str] = set()
    while new := [item for item in page.data or () if item.id not in seen]:
        yield from new
        if not page.has_next_page():
            return
        seen.update(item.id for item in new)
        page = page.get_next_page()


def _file_of(name: str) -> str:
    return f"{name}.jsonl"


def _remote(batch: Any) -> RemoteBatch:
    made = _made(batch, "batch")
    told = [_fault_in(fault) for fault in _faults_of(made.errors)[:3]]
    files = tuple(file for file in (made.output_file_id, made.error_file_id) if file)
    error = "; ".join(told) or None
    return RemoteBatch(id=made.id, file_id=made.input_file_id, status=made.status, error=error, files=files)


def _made(found: Any, what: str) -> Any:
    """Return what the library read, unless it is something else, such as the page of a proxy."""
    if isinstance(getattr(found, "id", None), str):
        return found
    raise ModelUnavailableError(
        f"the provider answered with no {what}, but with {str(found)[:200]!r}", True, outage=False
    )


def _faults_of(errors: Any) -> list[Any]:
    """Return the faults that a batch tells: in a list with OpenAI, and as they are with some other servers."""
    found = getattr(errors, "data", errors)
    found = found if isinstance(found, list) else [found]
    return [fault for fault in found if isinstance(fault, str) or getattr(fault, "message", None)]


def _fault_in(fault: Any) -> str:
    if isinstance(fault, str):
        return fault[:500]
    line = getattr(fault, "line", None)
    return f"line {line}: {fault.message}"[:500] if line else str(fault.message)[:500]


def _line(text: str) -> BatchLine | None:
    """The result in a line of a file; None for a line that names no call."""
    try:
        found = json.loads(text)
        custom_id = str(found["custom_id"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    response, error = found.get("response"), found.get("error")
    if isinstance(response, dict) and not error:
        body, status = response.get("body"), response.get("status_code")
        if isinstance(status, str) and status.isdecimal():  # as some servers write it
            status = int(status)
        if status == 200 and isinstance(body, dict):
            return BatchLine(custom_id=custom_id, completion=body, status=status)
        if status == 200:  # no completion, and nothing that says whether the next would be one
            return BatchLine(custom_id=custom_id, error=f"the line has no completion: {_words(body)}")
        error = (body.get("error") if isinstance(body, dict) else None) or body
        return BatchLine(custom_id=custom_id, error=_words(error), status=status if isinstance(status, int) else None)
    return BatchLine(custom_id=custom_id, error=_words(error))


def _words(error: Any) -> str:
    if isinstance(error, dict) and error.get("message"):
        return str(error["message"])[:500]
    return str(error)[:500]
