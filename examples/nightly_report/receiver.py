"""Receives the nightly report: makes a webhook at the server, checks each message's signature, and prints the report.

    python receiver.py        # the server has to run, see report.py; Ctrl-C ends it and takes the webhook away

TURNWISE_URL names a server elsewhere, TURNWISE_API_KEY is a key of it. Needs: pip install standardwebhooks
"""

from __future__ import annotations

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

from turnwise import Client

URL = os.environ.get("TURNWISE_URL", "http://127.0.0.1:8080")
KEY = os.environ.get("TURNWISE_API_KEY")


class Inbox:
    """Messages that were received; one that comes again is taken once."""

    def __init__(self, secret: str) -> None:
        self._webhook = Webhook(secret)
        self._seen: set[str] = set()  # a real one keeps them for two days, with its data

    def take(self, body: bytes, headers: dict[str, str]) -> int:
        """Take a request; the status of the answer. Anything but 2xx, and the server tries again later."""
        try:
            message = self._webhook.verify(body, headers)
        except WebhookVerificationError:
            return 400
        if headers["webhook-id"] not in self._seen:
            self._seen.add(headers["webhook-id"])
            data = message["data"]
            told = data["message"]["content"] if message["type"] == "run.completed" else "The report failed."
            print(f"{message['type']} {data['run']}: {told}", flush=True)
        return 204


def receiver(inbox: Inbox) -> type[BaseHTTPRequestHandler]:
    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(inbox.take(body, {name.lower(): value for name, value in self.headers.items()}))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Print reports only."""

    return Receiver


def main() -> None:
    with Client(URL, KEY) as client, ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        here = f"http://127.0.0.1:{server.server_port}/"
        webhook = client.create_webhook(here, events=["run.completed", "run.failed"], description="nightly report")
        server.RequestHandlerClass = receiver(Inbox(webhook.secret))
        print(f"Waiting for reports at {here}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            client.delete_webhook(webhook.id)


if __name__ == "__main__":
    main()
