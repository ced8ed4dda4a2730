"""Tokens of an OpenID Connect issuer, asked for over real HTTP."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.e2e.waiting import until
from tests.support.access_parts import OWNER, World, world
from tests.support.issuer import DESCRIPTION, KEYS, Issuer, issuer, signing

from turnwise.record.tenants.reach import OneTenant
from turnwise.record.tenants.tenant import TenantLimits

__all__ = ["signing"]

GOOD = {"task": "desk", "message": "hello"}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, signing: Issuer) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("oidc"), oidc_issuer=signing.url, oidc_audience="turnwise") as made:
        yield made


def asked(here: World, token: str, method: str = "GET", **more: Any) -> tuple[int, str]:
    answer = here.gateway.http.request(method, "/v1/runs", headers={"Authorization": f"Bearer {token}"}, **more)
    return answer.status_code, answer.text


def test_a_token_lets_in_with_its_tenant_and_scopes(here: World, signing: Issuer) -> None:
    status, seen = asked(here, signing.token())

    assert status == 200
    assert here.owned["waiting"] in seen
    assert here.owned["waiting"] not in asked(here, signing.token(tenant="rival"))[1]
    assert asked(here, signing.token(scope="runs:read"), "POST", json=GOOD)[0] == 403
    assert asked(here, signing.token(scope=None))[0] == 403
    assert asked(here, signing.token(scope=["runs:read", "other"]))[0] == 200


def test_keys_and_tokens_work_side_by_side(here: World, signing: Issuer) -> None:
    assert asked(here, here.key(OWNER, "runs:read")[1])[0] == 200
    assert asked(here, signing.token())[0] == 200


def test_a_change_is_written_down_with_the_token_s_subject(here: World, signing: Issuer) -> None:
    assert asked(here, signing.token(sub="bob", tenant="audited"), "POST", json=GOOD)[0] == 202

    [row] = here.gateway.store.administrator(OneTenant("audited")).audit()

    assert (row.actor, row.action) == ("oidc:bob", "submit")


def test_the_limits_of_the_tenant_hold_for_tokens_too(here: World, signing: Issuer) -> None:
    here.gateway.store.operator().set_tenant_limits("limited", TenantLimits(max_unfinished_runs=1))

    answers = [asked(here, signing.token(tenant="limited"), "POST", json=GOOD)[0] for _ in range(2)]

    assert answers == [202, 429]


def _unsigned(signing: Issuer) -> str:
    _, body, _ = signing.token().split(".")
    none = base64.urlsafe_b64encode(json.dumps({"alg": "none", "kid": "one"}).encode()).decode().rstrip("=")
    return f"{none}.{body}."


def _signed_with_the_public_key(signing: Issuer) -> str:
    """As if the public key, which everybody has, were a shared secret."""
    _, body, _ = signing.token().split(".")
    head = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": "one"}).encode()).decode().rstrip("=")
    public = signing.key("one").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    digest = hmac.new(public, f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


BAD = {
    "expired": lambda issuer: issuer.token(exp=int(time.time()) - 60),
    "not valid yet": lambda issuer: issuer.token(nbf=int(time.time()) + 600),
    "for somebody else": lambda issuer: issuer.token(aud="shop"),
    "of another issuer": lambda issuer: issuer.token(iss="https://issuer.example"),
    "signed by a stranger": lambda issuer: issuer.token(signed_with="stranger"),
    "of a key that nobody knows": lambda issuer: issuer.token(key="unknown"),
    "whose end is no time": lambda issuer: issuer.token(exp=10**400),
    "whose end as a text is no time": lambda issuer: issuer.token(exp="9" * 400),
    "that ends at infinity": lambda issuer: issuer.token(exp=float("inf")),
    "that ends at no number": lambda issuer: issuer.token(exp=float("nan")),
    "valid from infinity": lambda issuer: issuer.token(nbf=float("inf")),
    "made at infinity": lambda issuer: issuer.token(iat=float("inf")),
    "valid from what is no time": lambda issuer: issuer.token(nbf=10**400),
    "of a subject that is no text": lambda issuer: issuer.token(sub=5),
    "without an end": lambda issuer: issuer.token(exp=None),
    "without an audience": lambda issuer: issuer.token(aud=None),
    "without a subject": lambda issuer: issuer.token(sub=None),
    "without a tenant": lambda issuer: issuer.token(tenant=None),
    "with a tenant that can be none": lambda issuer: issuer.token(tenant="a/b"),
    "with several tenants": lambda issuer: issuer.token(tenant=["acme-1"]),
    "changed": lambda issuer: issuer.token()[:-6] + "AAAAAA",
    "not signed": _unsigned,
    "signed with the public key": _signed_with_the_public_key,
    "no token": lambda issuer: "a.b.c",
    "endless": lambda issuer: "a" * 20_000 + ".b.c",
}


@pytest.mark.parametrize("make", BAD.values(), ids=BAD)
def test_any_other_token_is_refused(here: World, signing: Issuer, make: Any) -> None:
    status, said = asked(here, make(signing))

    assert status == 401, said
    assert json.loads(said)["code"] == "unauthorized"


def test_a_clock_may_differ_by_the_leeway(here: World, signing: Issuer) -> None:
    assert asked(here, signing.token(exp=int(time.time()) - 10))[0] == 200


def test_keys_are_fetched_once_and_a_new_one_when_a_token_names_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("turnwise_gateway.access.oidc._COOLDOWN", 0.5)
    with issuer() as own, world(tmp_path, oidc_issuer=own.url, oidc_audience="turnwise") as made:
        assert [asked(made, own.token())[0] for _ in range(5)] == [200] * 5
        assert own.asked == {"/.well-known/openid-configuration": 1, "/keys": 1}
        # A flood of unknown keys is not passed on to the issuer.
        assert {asked(made, own.token(key=f"unknown-{n}"))[0] for n in range(5)} == {401}
        assert own.asked["/keys"] <= 2
        own.published = ["one", "two"]
        until(lambda: asked(made, own.token(key="two"))[0] == 200, "the new key to be fetched", every=0.05)
        assert asked(made, own.token())[0] == 200


def test_keys_at_hand_are_used_while_the_issuer_is_left_alone(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("turnwise_gateway.access.oidc._COOLDOWN", 0.0)
    with issuer() as own, world(tmp_path, oidc_issuer=own.url, oidc_audience="turnwise") as made:
        assert asked(made, own.token())[0] == 200
        own.answers[KEYS] = b"<html>"
        assert asked(made, own.token(key="unknown"))[0] == 503

        assert asked(made, own.token())[0] == 200
        assert own.asked[KEYS] == 2


def test_an_issuer_that_is_away_is_no_reason_to_refuse_keys(tmp_path: Path, signing: Issuer) -> None:
    away = "http://127.0.0.1:1"
    with world(tmp_path, oidc_issuer=away, oidc_audience="turnwise") as made:
        status, said = asked(made, signing.token(iss=away))
        assert (status, json.loads(said)["code"]) == (503, "issuer_unavailable")
        assert asked(made, made.key(OWNER, "runs:read")[1])[0] == 200


def described(jwks_uri: str) -> bytes:
    return json.dumps({"issuer": "URL", "jwks_uri": jwks_uri}).encode()


# The path, and the body of an answer from which no key can be had; URL is the issuer's own.
UNUSABLE = {
    "no address of keys": (DESCRIPTION, b'{"issuer": "URL"}'),
    "an address that is no text": (DESCRIPTION, b'{"issuer": "URL", "jwks_uri": 5}'),
    "an address that is none": (DESCRIPTION, described("keys")),
    "an address of a file": (DESCRIPTION, described("file:///etc/passwd")),
    "an address that cannot be read": (DESCRIPTION, described("http://[::1")),
    "an address with a line end": (DESCRIPTION, described("http://host\n/keys")),
    "no object": (DESCRIPTION, b"[1]"),
    "no JSON": (DESCRIPTION, b"<html>"),
    "no text": (DESCRIPTION, b'"\xff"'),
    "too deep": (DESCRIPTION, b"[" * 100_000),
    "no keys": (KEYS, b'{"keys": []}'),
    "an error": (KEYS, b'{"error": "try again"}'),
    "a list": (KEYS, b"[1]"),
    "keys of no known kind": (KEYS, b'{"keys": [{"kty": "new", "kid": "one"}]}'),
    "keys to encrypt with": (KEYS, b'{"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "one", "use": "enc"}]}'),
    "a key with a malformed part": (KEYS, b'{"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB", "alg": ["RS256"]}]}'),
    "a page of HTML": (KEYS, b"<html>"),
    "keys that are no text": (KEYS, b'"\xff"'),
    "keys that are too deep": (KEYS, b"[" * 100_000),
}


@pytest.mark.parametrize(("path", "body"), UNUSABLE.values(), ids=UNUSABLE)
def test_an_issuer_without_usable_keys_is_unavailable_and_left_alone_for_a_while(
    tmp_path: Path, path: str, body: bytes
) -> None:
    with issuer() as own, world(tmp_path, oidc_issuer=own.url, oidc_audience="turnwise") as made:
        own.answers[path] = body.replace(b"URL", own.url.encode())

        refused = [
            made.gateway.http.get("/v1/runs", headers={"Authorization": f"Bearer {own.token()}"}) for _ in range(2)
        ]

        assert [(one.status_code, one.json()["code"]) for one in refused] == [(503, "issuer_unavailable")] * 2
        assert all("Retry-After" in one.headers for one in refused)
        assert own.asked[path] == 1


def test_claims_may_have_other_names_and_lie_deeper(tmp_path: Path, signing: Issuer) -> None:
    names = {"oidc_tenant_claim": "https://example.com/org", "oidc_scopes_claim": "realm_access.roles"}
    with world(tmp_path, oidc_issuer=signing.url, oidc_audience="turnwise", **names) as made:
        claims: dict[str, Any] = {"https://example.com/org": "acme-1", "realm_access": {"roles": ["runs:read"]}}
        assert asked(made, signing.token(tenant=None, scope=None, **claims))[0] == 200
        assert asked(made, signing.token())[0] == 401


def test_the_issuer_s_tokens_are_what_the_library_makes_of_them(signing: Issuer) -> None:
    """The tests' own issuer is no more lenient than others: its tokens name their key and algorithm."""
    assert jwt.get_unverified_header(signing.token()) == {"alg": "ES256", "kid": "one", "typ": "JWT"}
