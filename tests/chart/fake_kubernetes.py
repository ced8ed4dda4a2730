"""As much of the Kubernetes API as Helm needs to install a chart: it takes every object and keeps it.

There is no cluster behind it. Jobs and Pods are done as soon as they are created, so that hooks end.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

Object = dict[str, Any]

# Group and version, then kind and whether it lives in a namespace; what the chart may make, and no more.
_KINDS: dict[str, dict[str, bool]] = {
    "v1": {
        "ConfigMap": True,
        "Namespace": False,
        "PersistentVolumeClaim": True,
        "Pod": True,
        "Secret": True,
        "Service": True,
        "ServiceAccount": True,
    },
    "apps/v1": {"Deployment": True, "StatefulSet": True},
    "autoscaling/v2": {"HorizontalPodAutoscaler": True},
    "batch/v1": {"Job": True},
    "gateway.networking.k8s.io/v1": {"HTTPRoute": True},
    "keda.sh/v1alpha1": {"ScaledObject": True, "TriggerAuthentication": True},
    "monitoring.coreos.com/v1": {"PodMonitor": True, "PrometheusRule": True, "ServiceMonitor": True},
    "networking.k8s.io/v1": {"Ingress": True, "NetworkPolicy": True},
    "policy/v1": {"PodDisruptionBudget": True},
}
_DONE: dict[str, Object] = {
    "Job": {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]},
    "Pod": {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False", "reason": "PodCompleted"}]},
}


class FakeKubernetes:
    """A server on loopback; `created` has every object that was sent, in the order in which it was.

    `release` is what Helm keeps of the last installation: its manifest, hooks and notes. Helm writes it down before it
    creates anything, so that `refuses` makes an installation end as soon as all is rendered.
    """

    def __init__(self, version: str = "1.32") -> None:
        self.created: list[Object] = []
        self.release: Object | None = None
        self.refuses = False
        self._objects: dict[str, Object] = {}
        self._version = version
        fake = self

        class Handler(_Handler):
            kubernetes = fake

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> FakeKubernetes:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def kubeconfig(self) -> str:
        """Return the configuration by which a client finds it, as YAML."""
        url = f"http://127.0.0.1:{self._server.server_port}"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "fake", "cluster": {"server": url}}],
            "users": [{"name": "fake", "user": {}}],
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}],
            "current-context": "fake",
        }
        return yaml.safe_dump(config)

    def discovery(self, path: str) -> Object | None:
        """The answer to a question of what there is; None if the path is none."""
        groups = [version for version in _KINDS if "/" in version]
        if path == "/version":
            major, minor = self._version.split(".")
            return {"major": major, "minor": minor, "gitVersion": f"v{self._version}.0"}
        if path == "/api":
            return {"kind": "APIVersions", "versions": ["v1"]}
        if path == "/apis":
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(version) for version in groups]}
        version = path.removeprefix("/apis/").removeprefix("/api/")
        return _resources(version) if version in _KINDS else None

    def create(self, path: str, given: Object) -> Object:
        """Keep the object, as good as done."""
        self.created.append(given)
        kept = {**given, "metadata": {**given["metadata"], "uid": str(len(self.created)), "resourceVersion": "1"}}
        if given["kind"] in _DONE:
            kept["status"] = _DONE[given["kind"]]
        self._objects[f"{path}/{given['metadata']['name']}"] = kept
        return kept

    def get(self, path: str) -> Object | None:
        """The object at this path, if there is one."""
        return self._objects.get(path)

    def delete(self, path: str) -> None:
        """Forget the object."""
        self._objects.pop(path, None)

    def listed(self, path: str, name: str) -> list[Object]:
        """The objects in the collection, or the one of that name."""
        found = [one for at, one in self._objects.items() if at.rpartition("/")[0] == path]
        return [one for one in found if one["metadata"]["name"] == (name or one["metadata"]["name"])]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kubernetes: FakeKubernetes

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/openapi/v2":  # in protobuf an empty document is empty: nothing is known of any kind
            return self._send(200, "application/octet-stream", b"")
        found = self.kubernetes.discovery(parts.path) or self.kubernetes.get(parts.path)
        if found is None and _is_collection(parts.path):
            query = parse_qs(parts.query)
            wanted = query.get("fieldSelector", [""])[0].removeprefix("metadata.name=")
            there = self.kubernetes.listed(parts.path, wanted)
            if "watch" in query:
                return self._watch(there, _version_of(parts.path))
            found = {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": there}
        return self._answer(200, found) if found is not None else self._refuse(404, "NotFound")

    def do_POST(self) -> None:
        text = self._body()
        if _is_release(text):
            self._keep_release(201, text)
        else:
            self._answer(201, self.kubernetes.create(urlsplit(self.path).path, json.loads(text)))

    def do_PUT(self) -> None:
        self._keep_release(200, self._body())

    def do_DELETE(self) -> None:
        self._body()
        self.kubernetes.delete(urlsplit(self.path).path)
        self._answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _keep_release(self, status: int, text: bytes) -> None:
        """Helm's own book-keeping comes as protobuf, and is sent back as it is."""
        self.kubernetes.release = _release_of(text)
        if self.kubernetes.refuses:
            self._refuse(403, "Forbidden")
        else:
            self._send(status, self.headers["Content-Type"], text)

    def _refuse(self, status: int, reason: str) -> None:
        told = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": reason}
        self._answer(status, {**told, "code": status})

    def _answer(self, status: int, body: Object) -> None:
        self._send(status, "application/json", json.dumps(body).encode())

    def _send(self, status: int, kind: str, text: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _watch(self, objects: list[Object], version: str) -> None:
        """Send the present objects, then that these were all; nothing changes, so silence until the client hangs up."""
        end = {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}
        bookmark = {"kind": objects[0]["kind"] if objects else "Job", "apiVersion": version, "metadata": end}
        events = [*({"type": "ADDED", "object": one} for one in objects), {"type": "BOOKMARK", "object": bookmark}]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(json.dumps(event).encode() + b"\n")
        self.rfile.read(1)
        self.close_connection = True


# Kubernetes puts these four bytes before an object in protobuf; only Helm's Secrets come so.
_PROTOBUF = b"k8s\0"


def _is_release(text: bytes) -> bool:
    return text.startswith(_PROTOBUF)


def _release_of(text: bytes) -> Object:
    """The release in Helm's Secret: JSON, zipped and in base64, whatever is around it."""
    packed = re.search(rb"H4sI[A-Za-z0-9+/=]+", text)
    if packed is None:
        raise ValueError("there is no release in Helm's Secret; has its format changed?")
    found: Object = json.loads(gzip.decompress(base64.b64decode(packed.group())))
    return found


def _group(version: str) -> Object:
    name = version.partition("/")[0]
    here = {"groupVersion": version, "version": version.partition("/")[2]}
    return {"name": name, "versions": [here], "preferredVersion": here}


def _plural(kind: str) -> str:
    name = kind.lower()
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}es" if name.endswith("s") else f"{name}s"


def _resources(version: str) -> Object:
    verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
    found = [
        {"name": _plural(kind), "singularName": kind.lower(), "namespaced": inside, "kind": kind, "verbs": verbs}
        for kind, inside in _KINDS[version].items()
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": found}


def _version_of(path: str) -> str:
    return path.removeprefix("/apis/").removeprefix("/api/").partition("/namespaces/")[0]


def _is_collection(path: str) -> bool:
    last = path.rpartition("/")[2]
    return any(_plural(kind) == last for kinds in _KINDS.values() for kind in kinds)
