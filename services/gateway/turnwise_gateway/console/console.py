"""The console's routes: one page, and the files that it loads. Open to all: they hold no secret, and the API that they
call asks who calls.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.datastructures import Headers

from turnwise.errors import NotFoundError
from turnwise_gateway.console.files import ConsoleFile, console_files
from turnwise_gateway.console.headers import ASK_AGAIN, FOR_EVER, SECURITY_HEADERS, content_security_policy
from turnwise_gateway.http.root_path import public

router = APIRouter(include_in_schema=False)

_METHODS = ["GET", "HEAD"]


@router.api_route("/", methods=_METHODS)
async def console_page(request: Request) -> Response:
    """The page; which one of the console it shows stands behind the `#` of the address."""
    files = console_files()
    page = files.page_for(request.scope.get("root_path", ""), request.app.state.gateway.settings.auth)
    sent = _sent(page, request.headers, ASK_AGAIN)
    sent.headers["Content-Security-Policy"] = content_security_policy(files.script)
    return sent


@router.api_route("/console/{digest}/{path:path}", methods=_METHODS)
async def console_file(digest: str, path: str, request: Request) -> Response:
    """A file of the page. While gateways of two versions serve, the page of one may ask the other: that gets what is
    there, and does not keep it.
    """
    files = console_files()
    found = files.others.get(path)
    if found is None:
        raise NotFoundError(f"the console has no file {path!r}; open {public('/')}")
    return _sent(found, request.headers, FOR_EVER if digest == files.digest else ASK_AGAIN)


def _sent(file: ConsoleFile, asked: Headers, cached: str) -> Response:
    tag = f'"{file.digest}"'
    headers = SECURITY_HEADERS | {"Cache-Control": cached, "ETag": tag, "Vary": "Accept-Encoding"}
    if tag in asked.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in asked.get("accept-encoding", ""):
        return Response(file.zipped, headers=headers | {"Content-Encoding": "gzip"}, media_type=file.media_type)
    return Response(file.body, headers=headers, media_type=file.media_type)
