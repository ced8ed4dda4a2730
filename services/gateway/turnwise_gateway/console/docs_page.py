"""The page of the API's description, at `/docs`: Swagger UI, from the package's own files.

The page has the origin of the console, and so its sign-in; it has the same policy.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from turnwise_gateway.console.files import console_files
from turnwise_gateway.console.headers import ASK_AGAIN, SECURITY_HEADERS
from turnwise_gateway.http.root_path import public

router = APIRouter(include_in_schema=False)

_PAGE = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Turnwise: the HTTP API</title>
    <link rel="icon" type="image/svg+xml" href="{assets}/icon.svg" />
    <link rel="stylesheet" href="{assets}/vendor/swagger-ui.css" />
  </head>
  <body>
    <div id="swagger-ui" data-description="{description}"></div>
    <script src="{assets}/vendor/swagger-ui-bundle.js"></script>
    <script src="{assets}/api_docs.js"></script>
  </body>
</html>
"""


@router.get("/docs")
async def docs_page(request: Request) -> Response:
    """The page."""
    assets = console_files().assets(request.scope.get("root_path", ""))
    body = _PAGE.format(assets=assets, description=public("/openapi.json"))
    headers = SECURITY_HEADERS | {"Cache-Control": ASK_AGAIN}
    return Response(body, headers=headers, media_type="text/html")
