"""What `helm test` asks: the gateway is ready, and every queue that always has a worker has one that hears its broker.

Takes the gateway's URL, the seconds that all this may take, and the queues. TURNWISE_API_KEY or TURNWISE_AUTH_TOKEN is
of somebody who may see the workers; without either they are not looked at.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request

# The line end of a secret that was made from a file is not part of it.
TOKEN = (os.environ.get("TURNWISE_API_KEY") or os.environ.get("TURNWISE_AUTH_TOKEN") or "").strip()


def get(url: str) -> dict:
    """The JSON at an address of the gateway."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request, timeout=5) as response:
        return json.load(response)


def what_is_wrong(base: str, queues: list[str]) -> str:
    """Why the installation cannot work; empty if it can."""
    try:
        get(f"{base}/health/ready")
        workers = get(f"{base}/v1/workers")["items"] if TOKEN else []
    except (OSError, urllib.error.URLError) as error:
        return f"the gateway at {base} is not ready: {error}"
    if not TOKEN:
        return ""
    served = {queue for worker in workers if worker["state"] == "alive" for queue in worker["queues"]}
    missing = [queue for queue in queues if queue not in served]
    return f"no live worker for {', '.join(missing)}; see the pods of these queues" if missing else ""


def main(base: str, seconds: str, *queues: str) -> None:
    """Ask until nothing is wrong, or the time is over."""
    end = time.monotonic() + float(seconds)
    while wrong := what_is_wrong(base, list(queues)):
        if time.monotonic() > end:
            sys.exit(wrong)
        time.sleep(1)


main(*sys.argv[1:])
