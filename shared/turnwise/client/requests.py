"""One request to the gateway, and what it means that it failed."""

from __future__ import annotations

from typing import Any

import httpx2

from turnwise.client.errors import error_of, unavailable
from turnwise.observability.telemetry.context import current_traceparent


class Requests:
    """Sends requests to `base_url`; subclasses make the connections."""

    base_url: str
    _http: httpx2.Client

    def _call(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        body: dict[str, Any] = self._request(method, path, **request).json()
        return body

    def _request(self, method: str, path: str, **request: Any) -> httpx2.Response:
        traceparent = current_traceparent()
        if traceparent is not None:
            request["headers"] = {**(request.get("headers") or {}), "traceparent": traceparent}
        try:
            response = self._http.request(method, path, **request)
        except httpx2.TransportError as error:
            raise unavailable(self.base_url, error) from error
        if response.is_error:
            raise error_of(response)
        return response
