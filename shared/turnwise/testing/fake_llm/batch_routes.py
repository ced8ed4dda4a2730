"""The HTTP side of the scripted model's files and batches."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.datastructures import UploadFile

from turnwise.testing.fake_llm.answer import ScriptedFault
from turnwise.testing.fake_llm.batch_store import BatchStore, FileOrBatchRefused
from turnwise.testing.fake_llm.stats import Stats

ErrorResponse = Callable[[ScriptedFault], Response]


def add_batch_routes(app: FastAPI, store: BatchStore, stats: Stats, refuse: ErrorResponse) -> None:
    """Serve `store` under the paths of OpenAI's Files and Batch APIs; `refuse` makes the answer to a fault."""
    _add_files(app, store, refuse)
    _add_batches(app, store, stats, refuse)


def _answer(work: Callable[[], Any], refuse: ErrorResponse) -> Response:
    try:
        return JSONResponse(work())
    except FileOrBatchRefused as error:
        return refuse(error.fault)


def _add_files(app: FastAPI, store: BatchStore, refuse: ErrorResponse) -> None:
    async def upload(http: Request) -> Response:
        async with http.form() as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                return refuse(ScriptedFault(status=400, message="the form has no file in its field 'file'"))
            content = await file.read()
            name, purpose = file.filename or "file", str(form.get("purpose"))
        return JSONResponse(store.keep(name, purpose, content))

    async def files(purpose: str | None = None) -> Response:
        found = store.files(purpose)
        return JSONResponse({"object": "list", "data": found, "has_more": False})

    async def file(file_id: str) -> Response:
        return _answer(lambda: store.file(file_id), refuse)

    async def delete(file_id: str) -> Response:
        return _answer(lambda: store.delete(file_id), refuse)

    async def content(file_id: str) -> Response:
        try:
            return Response(store.content(file_id), media_type="application/octet-stream")
        except FileOrBatchRefused as error:
            return refuse(error.fault)

    _add(app, "/v1/files", upload, "POST")
    _add(app, "/v1/files", files, "GET")
    _add(app, "/v1/files/{file_id}", file, "GET")
    _add(app, "/v1/files/{file_id}", delete, "DELETE")
    _add(app, "/v1/files/{file_id}/content", content, "GET")


def _add_batches(app: FastAPI, store: BatchStore, stats: Stats, refuse: ErrorResponse) -> None:
    async def create(http: Request) -> Response:
        try:
            asked = json.loads(await http.body())
        except ValueError as error:
            return refuse(ScriptedFault(status=400, message=f"not JSON: {error}"))
        made = _answer(lambda: store.create(asked), refuse)
        stats.batch_begun()
        await asyncio.sleep(store.script.create_delay)
        return made

    # Threads, because a batch that ends asks a script for all its answers.
    def batches(after: str | None = None, limit: int = 20) -> Response:
        return _answer(lambda: store.batches(after, limit), refuse)

    def batch(batch_id: str) -> Response:
        return _answer(lambda: store.batch(batch_id), refuse)

    def cancel(batch_id: str) -> Response:
        return _answer(lambda: store.cancel(batch_id), refuse)

    _add(app, "/v1/batches", create, "POST")
    _add(app, "/v1/batches", batches, "GET")
    _add(app, "/v1/batches/{batch_id}", batch, "GET")
    _add(app, "/v1/batches/{batch_id}/cancel", cancel, "POST")


def _add(app: FastAPI, path: str, handler: Callable[..., Any], method: str) -> None:
    app.add_api_route(path, handler, methods=[method], response_model=None)
