"""Files and batches of the scripted model, as OpenAI's Files and Batch APIs have them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from turnwise.testing.fake_llm.answer import Answer, ScriptedFault
from turnwise.testing.fake_llm.batch_script import BatchEnd, BatchScript
from turnwise.testing.fake_llm.request import ChatRequest
from turnwise.testing.fake_llm.wire import completion

Json = dict[str, Any]
ENDPOINT = "/v1/chat/completions"
_DAY = 86_400
_MOST_LINES = 50_000
_RUNNING = ("validating", "in_progress", "finalizing")


class FileOrBatchRefused(Exception):
    """There is no file, or no batch, of that id; or it is not as the request needs it."""

    def __init__(self, message: str, status: int = 404) -> None:
        super().__init__(message)
        self.fault = ScriptedFault(status=status, message=message)


@dataclass
class _File:
    id: str
    name: str
    purpose: str
    content: bytes
    created_at: float

    def shown(self) -> Json:
        return {
            "id": self.id,
            "object": "file",
            "bytes": len(self.content),
            "created_at": int(self.created_at),
            "filename": self.name,
            "purpose": self.purpose,
            "status": "processed",
        }


@dataclass
class _Batch:
    id: str
    input_file_id: str
    window: str
    metadata: dict[str, str] | None
    created_at: float
    due_at: float
    end: BatchEnd
    lines: list[tuple[str, ChatRequest]]
    faults: list[Json]
    status: str = "in_progress"
    ended_at: float | None = None
    output: str | None = None
    errors: str | None = None
    counts: dict[str, int] = field(default_factory=dict)

    def shown(self) -> Json:
        done = {f"{self.status}_at": int(self.ended_at)} if self.ended_at is not None else {}
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": ENDPOINT,
            "completion_window": self.window,
            "input_file_id": self.input_file_id,
            "metadata": self.metadata,
            "status": self.status,
            "created_at": int(self.created_at),
            "in_progress_at": int(self.created_at),
            "expires_at": int(self.created_at) + _DAY,
            "output_file_id": self.output,
            "error_file_id": self.errors,
            "errors": {"object": "list", "data": self.faults} if self.faults else None,
            "request_counts": self.counts or {"total": len(self.lines), "completed": 0, "failed": 0},
            **done,
        }


class BatchStore:
    """Keeps files, and lets batches end; safe to use from threads.

    `answer` gives a line's answer, which is asked for when its batch ends.
    """

    def __init__(
        self,
        answer: Callable[[ChatRequest], Answer],
        script: BatchScript | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._answer, self.script, self._clock = answer, script or BatchScript(), clock
        self._lock = threading.RLock()
        self._files: dict[str, _File] = {}
        self._batches: dict[str, _Batch] = {}
        self._last = 0

    def keep(self, name: str, purpose: str, content: bytes) -> Json:
        """Keep a file; what is known of it."""
        with self._lock:
            return self._keep(name, purpose, content).shown()

    def files(self, purpose: str | None = None) -> list[Json]:
        """The files, of one purpose or of any."""
        with self._lock:
            return [one.shown() for one in self._files.values() if purpose in (None, one.purpose)]

    def file(self, file_id: str) -> Json:
        """Return what is known of a file; raises `FileOrBatchRefused`."""
        with self._lock:
            return self._file(file_id).shown()

    def content(self, file_id: str) -> bytes:
        """Return what is in a file; raises `FileOrBatchRefused`."""
        with self._lock:
            return self._file(file_id).content

    def delete(self, file_id: str) -> Json:
        """Forget a file; raises `FileOrBatchRefused`."""
        with self._lock:
            self._file(file_id)
            del self._files[file_id]
            return {"id": file_id, "object": "file", "deleted": True}

    def create(self, asked: Json) -> Json:
        """Begin a batch; one whose file has a fault fails at once. Raises `FileOrBatchRefused` for a wrong request."""
        if asked.get("endpoint") != ENDPOINT:
            raise FileOrBatchRefused(f"the endpoint is {asked.get('endpoint')!r}; expected {ENDPOINT!r}", 400)
        if asked.get("completion_window") != "24h":
            raise FileOrBatchRefused(
                f"the completion_window is {asked.get('completion_window')!r}; expected '24h'", 400
            )
        with self._lock:
            source = self._file(str(asked.get("input_file_id")))
            if source.purpose != "batch":
                raise FileOrBatchRefused(f"the file's purpose is {source.purpose!r}; expected 'batch'", 400)
            lines, faults = _lines(source.content)
            ends, made = self.script.ends, len(self._batches)
            end: BatchEnd = ends[made] if made < len(ends) else "completed"
            now = self._clock()
            batch = _Batch(
                id=self._new_id("batch"),
                input_file_id=source.id,
                window="24h",
                metadata=asked.get("metadata"),
                created_at=now,
                due_at=now if faults else now + self.script.delay,
                end="failed" if faults else end,
                lines=lines,
                faults=faults,
            )
            self._batches[batch.id] = batch
            return batch.shown()

    def batch(self, batch_id: str) -> Json:
        """The batch as it is now; raises `FileOrBatchRefused`."""
        with self._lock:
            return self._look(self._of(batch_id)).shown()

    def batches(self, after: str | None = None, limit: int = 20) -> Json:
        """A page of the batches, the latest first."""
        with self._lock:
            found = [self._look(batch).shown() for batch in reversed(self._batches.values())]
        ids = [one["id"] for one in found]
        start = ids.index(after) + 1 if after in ids else 0
        page = found[start : start + limit]
        ends = {"first_id": page[0]["id"] if page else None, "last_id": page[-1]["id"] if page else None}
        return {"object": "list", "data": page, **ends, "has_more": start + limit < len(found)}

    def cancel(self, batch_id: str) -> Json:
        """End a batch that has not ended; raises `FileOrBatchRefused`."""
        with self._lock:
            batch = self._look(self._of(batch_id))
            if batch.status not in _RUNNING:
                raise FileOrBatchRefused(f"the batch {batch_id} has ended: {batch.status}", 409)
            batch.end = "cancelled"
            self._end(batch)
            return batch.shown()

    def _of(self, batch_id: str) -> _Batch:
        if batch_id not in self._batches:
            raise FileOrBatchRefused(f"there is no batch {batch_id!r}")
        return self._batches[batch_id]

    def _file(self, file_id: str) -> _File:
        if file_id not in self._files:
            raise FileOrBatchRefused(f"there is no file {file_id!r}")
        return self._files[file_id]

    def _new_id(self, kind: str) -> str:
        self._last += 1
        return f"{kind}_{self._last}"

    def _keep(self, name: str, purpose: str, content: bytes) -> _File:
        made = _File(self._new_id("file"), name, purpose, content, self._clock())
        self._files[made.id] = made
        return made

    def _look(self, batch: _Batch) -> _Batch:
        if batch.status in _RUNNING and batch.due_at <= self._clock():
            self._end(batch)
        return batch

    def _end(self, batch: _Batch) -> None:
        batch.status, batch.ended_at = batch.end, self._clock()
        total = len(batch.lines)
        answered = {"completed": total, "failed": 0}.get(batch.end, total // 2)
        good: list[Json] = []
        bad: list[Json] = []
        for custom_id, request in batch.lines[:answered]:
            line = _line(batch.id, custom_id, request, self._answer(request))
            (good if line["error"] is None and line["response"]["status_code"] == 200 else bad).append(line)
        if batch.end != "failed":
            left = batch.lines[answered:]
            bad += [_left(batch.id, custom_id, f"batch_{batch.end}") for custom_id, _ in left]
        elif not batch.faults:
            batch.faults.append(_fault("scripted_failure", "the script lets this batch fail", None))
        batch.counts = {"total": total, "completed": len(good), "failed": len(bad)}
        batch.output = self._result(batch, "output", good)
        batch.errors = self._result(batch, "error", bad)

    def _result(self, batch: _Batch, kind: str, lines: list[Json]) -> str | None:
        if not lines:
            return None
        content = "".join(json.dumps(line) + "\n" for line in lines).encode()
        return self._keep(f"{batch.id}_{kind}.jsonl", "batch_output", content).id


def _line(batch_id: str, custom_id: str, request: ChatRequest, answer: Answer) -> Json:
    """A line of an output file, or of an error file."""
    if answer.fault == "disconnect":
        return _left(batch_id, custom_id, "server_error")
    if isinstance(answer.fault, ScriptedFault):
        error = {"message": answer.fault.message, "type": "fake_llm", "param": None, "code": None}
        status, body = answer.fault.status, {"error": error}
    else:
        status, body = 200, completion(request, answer)
    response = {"status_code": status, "request_id": f"req_{request.digest}", "body": body}
    return {"id": f"{batch_id}_{custom_id}", "custom_id": custom_id, "response": response, "error": None}


def _left(batch_id: str, custom_id: str, code: str) -> Json:
    """A line that was not answered."""
    error = {"code": code, "message": f"this request was not answered: {code}"}
    return {"id": f"{batch_id}_{custom_id}", "custom_id": custom_id, "response": None, "error": error}


def _lines(content: bytes) -> tuple[list[tuple[str, ChatRequest]], list[Json]]:
    """The requests of an input file by their custom ids, and its faults."""
    lines: dict[str, ChatRequest] = {}
    faults: list[Json] = []
    given = [line for line in content.splitlines() if line.strip()]
    if not given or len(given) > _MOST_LINES:
        faults.append(_fault("invalid_file", f"a file has 1 to {_MOST_LINES} lines, this one {len(given)}", None))
    for no, text in enumerate(given, 1):
        for wrong in _read(text, lines):
            faults.append(_fault("invalid_json_line", wrong, no))
    if len({request.model for request in lines.values()}) > 1:
        faults.append(_fault("mismatched_model", "all requests of a batch have to name the same model", None))
    return list(lines.items()), faults


def _read(text: bytes, lines: dict[str, ChatRequest]) -> Iterator[str]:
    """Add a line of an input file; gives its faults."""
    try:
        line = json.loads(text)
        custom_id, place = line["custom_id"], (line["method"], line["url"])
        request = ChatRequest.model_validate(line["body"])
    except (ValueError, KeyError, TypeError, ValidationError) as error:
        yield f"not a request with custom_id, method, url and body: {type(error).__name__}: {error}"
        return
    if place != ("POST", ENDPOINT):
        yield f"method and url are {place}; expected ('POST', {ENDPOINT!r})"
    if custom_id in lines:
        yield f"the custom_id {custom_id!r} was used before"
    if request.stream:
        yield "an answer of a batch cannot be streamed"
    lines[custom_id] = request


def _fault(code: str, message: str, line: int | None) -> Json:
    return {"code": code, "message": message, "param": None, "line": line}
