"""Settings of the services: defaults, where they come from, and what is said of bad ones."""

from __future__ import annotations

import json
import os
import re
import traceback
from decimal import Decimal
from pathlib import Path
from typing import Annotated, get_args, get_origin

import pytest
from pydantic.fields import FieldInfo

from turnwise.errors import ConfigurationError
from turnwise.processes.setting_names import REPLACED, known_names
from turnwise.processes.setting_values import takes_json
from turnwise.processes.settings import ServiceSettings, load_settings, parse_address

ROOT = Path(__file__).parents[3]


def is_number(field: FieldInfo) -> bool:
    """Return whether the setting is a number, or a number or nothing."""
    types = {field.annotation, *map(bare, get_args(field.annotation))}
    return bool({int, float, Decimal} & types) and not takes_json(field)


def bare(annotation: object) -> object:
    """The type without its bounds."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


@pytest.fixture(autouse=True)
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("TURNWISE_"):
            monkeypatch.delenv(name)


def test_nothing_has_to_be_set() -> None:
    found = load_settings()
    assert found.database_url == "sqlite:///turnwise.db"
    assert found.bind_address == ("127.0.0.1", 8080)
    assert found.metrics_address is None


def test_overrides_win_over_variables_and_variables_over_the_env_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("TURNWISE_MAX_TURNS=1\nTURNWISE_MAX_COST=0.10\nTURNWISE_CONCURRENCY=3\n")
    monkeypatch.setenv("TURNWISE_MAX_TURNS", "2")
    monkeypatch.setenv("TURNWISE_CONCURRENCY", "4")
    found = load_settings(concurrency=5, app=None)
    assert (found.max_turns, found.max_cost, found.concurrency) == (2, Decimal("0.10"), 5)


def test_a_secret_may_be_a_file_and_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "TURNWISE_AUTH_TOKEN").write_text("opensesame\n")
    monkeypatch.setenv("TURNWISE_SECRETS_DIR", str(secrets))
    found = load_settings(auth="token")
    assert found.auth_token is not None
    assert found.auth_token.get_secret_value() == "opensesame"
    assert "opensesame" not in repr(found)


@pytest.mark.parametrize("around", ["{}\n", "{}\r\n", " {} ", "\t{}"])
def test_blanks_around_a_token_and_an_address_of_a_database_are_no_part_of_them(
    around: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNWISE_AUTH", "token")
    monkeypatch.setenv("TURNWISE_AUTH_TOKEN", around.format("open sesame"))
    monkeypatch.setenv("TURNWISE_DATABASE_URL", around.format("sqlite:///my runs.db"))

    found = load_settings()

    assert found.auth_token is not None
    assert found.auth_token.get_secret_value() == "open sesame"
    assert found.database_url == "sqlite:///my runs.db"


@pytest.mark.parametrize("token", ["sésame", "open\nsesame", "open\tsesame", "\x1b[A", "“sesame”"])
def test_a_token_that_no_request_can_have_is_refused_and_not_told(token: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"^TURNWISE_AUTH_TOKEN has a character that no HTTP header takes"
    ) as refused:
        load_settings(auth="token", auth_token=token)

    assert token not in str(refused.value)


@pytest.mark.parametrize("token", ["", " ", "\n"])
def test_a_blank_token_is_none(token: str) -> None:
    with pytest.raises(ConfigurationError, match="TURNWISE_AUTH=token needs TURNWISE_AUTH_TOKEN"):
        load_settings(auth="token", auth_token=token)


def test_a_token_that_no_one_is_asked_for_may_have_any_character() -> None:
    assert load_settings(auth="none", auth_token="sésame").auth == "none"


def test_a_secrets_directory_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_SECRETS_DIR", "/no/such/place")
    with pytest.raises(ConfigurationError, match="TURNWISE_SECRETS_DIR is '/no/such/place', which is not a directory"):
        load_settings()


def test_a_secret_that_is_no_text_is_told_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "TURNWISE_AUTH_TOKEN").write_bytes(b"winter\xff\xfe")
    (tmp_path / "broker.pem").write_bytes(b"\xff\xfe")  # no setting
    monkeypatch.setenv("TURNWISE_SECRETS_DIR", str(tmp_path))

    with pytest.raises(
        ConfigurationError, match=r"/TURNWISE_AUTH_TOKEN cannot be read \(.*\); expected a text"
    ) as told:
        load_settings()

    assert "winter" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("AUTH", "token", "TURNWISE_AUTH=token needs TURNWISE_AUTH_TOKEN; set it to a long random string"),
        ("AUTH", "maybe", "TURNWISE_AUTH is 'maybe'; expected 'none', 'token' or 'keys'"),
        ("OIDC_ALGORITHMS", '["HS256"]', "TURNWISE_OIDC_ALGORITHMS has the item 'HS256'; expected 'RS256'"),
        ("BIND", "127.example.com:80", "TURNWISE_AUTH=none is only for loopback"),
        ("BIND", "localhost.example.com:80", "TURNWISE_AUTH=none is only for loopback"),
        ("BIND", "0.0.0.0:80", r"TURNWISE_AUTH=none is only for loopback, but TURNWISE_BIND is 0\.0\.0\.0:80"),
        ("OIDC_ISSUER", "x", r"TURNWISE_OIDC_ISSUER is 'x'; expected a text that matches '\^https"),
        ("OIDC_AUDIENCE", "", "TURNWISE_OIDC_AUDIENCE is ''; expected a text with at least 1 character$"),
        ("MAX_TURNS", "many", "TURNWISE_MAX_TURNS is 'many'; expected a valid integer$"),
        ("MAX_TURNS", "0", "TURNWISE_MAX_TURNS is '0'; expected a number greater than 0$"),
        ("MAX_COST", "-1", "TURNWISE_MAX_COST is '-1'; expected a number greater than or equal to 0$"),
        ("MAX_COST", "five", "TURNWISE_MAX_COST is 'five'; expected a valid decimal$"),
        ("OIDC_LEEWAY", "999", "TURNWISE_OIDC_LEEWAY is '999'; expected a number less than or equal to 600$"),
        ("PROVIDER_BATCHES", "perhaps", "TURNWISE_PROVIDER_BATCHES is 'perhaps'; expected true or false$"),
        ("BEAT_SECONDS", "2", r"LEASE_SECONDS \(5.0\) must be at least three times TURNWISE_BEAT_SECONDS \(2.0\)"),
        ("LOG_FORMAT", "xml", "TURNWISE_LOG_FORMAT is 'xml'; expected 'auto', 'console' or 'json'$"),
        ("RETENTION_STATUSES", '["done"]', "TURNWISE_RETENTION_STATUSES has the item 'done'; expected 'completed', "),
        ("WEBHOOK_ALLOWED_NETWORKS", '["x"]', "WEBHOOK_ALLOWED_NETWORKS has the item 'x'; expected a valid IPv4 or"),
        ("TENANT_WEIGHTS", '{"a": 0}', "TURNWISE_TENANT_WEIGHTS has 0 for 'a'; expected a number greater than 0$"),
        (
            "TENANT_WEIGHTS",
            '{"a": Infinity}',
            "TENANT_WEIGHTS has inf for 'a'; expected a number less than or equal to",
        ),
        ("TRUSTED_PROXIES", '["10.0.0.1/8"]', r"PROXIES has the item '10\.0\.0\.1/8'; expected .*has host bits set\)"),
        ("TRUSTED_PROXIES", '["10.0.0.0/33"]', r"PROXIES has the item '10\.0\.0\.0/33'; expected an address or a netw"),
        ("TRUSTED_PROXIES", '["proxy.internal"]', r"PROXIES has the item 'proxy\.internal'; expected an address or a"),
        (
            "TRUSTED_PROXIES",
            '["*", "10.0.0.1"]',
            r"PROXIES is \['\*', '10\.0\.0\.1'\]; expected either \[\"\*\"\], which",
        ),
        (
            "LLM_QUEUES",
            '{"a": "fast@eu"}',
            "TURNWISE_LLM_QUEUES has 'fast@eu' for 'a'; expected a word such as slow, wit",
        ),
        ("LLM_QUEUES", '{"a": "fast,slow"}', "TURNWISE_LLM_QUEUES has 'fast,slow' for 'a'; expected a word"),
        ("AGENT_QUEUES", '{"a": ""}', "TURNWISE_AGENT_QUEUES has '' for 'a'; expected a word such as slow"),
        ("AGENT_QUEUES", '{"a": " slow"}', "TURNWISE_AGENT_QUEUES has ' slow' for 'a'; expected a word such as slow"),
        (
            "DRAIN_SECONDS",
            "1e10",
            "TURNWISE_DRAIN_SECONDS is '1e10'; expected a number less than or equal to 1000000000$",
        ),
        ("MAX_TOKENS", "1" + "0" * 20, "TURNWISE_MAX_TOKENS is '10*'; expected a number less than 9007199254740992$"),
        ("MAX_TURNS", "3000000000", "TURNWISE_MAX_TURNS is '3000000000'; expected a number less than 2147483648$"),
        ("MAX_COST", "1e200000", "TURNWISE_MAX_COST is '1e200000'; expected a number less than 1000000000000$"),
    ],
)
def test_a_bad_value_is_named_with_what_was_expected(
    name: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"TURNWISE_{name}", value)
    with pytest.raises(ConfigurationError, match=said):
        load_settings()


@pytest.mark.parametrize("value", ["inf", "nan", "1e300"])
@pytest.mark.parametrize("name", [name for name, field in ServiceSettings.model_fields.items() if is_number(field)])
def test_no_number_is_endless(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"TURNWISE_{name.upper()}", value)

    with pytest.raises(ConfigurationError, match=f"TURNWISE_{name.upper()} is '{value}'; expected "):
        load_settings()


@pytest.mark.parametrize("value", [["*"], ["10.0.0.1", "10.0.0.0/8"], ["::1", "fe80::/10"]], ids=str)
def test_proxies_are_addresses_and_networks_or_everyone(value: list[str]) -> None:
    assert load_settings(trusted_proxies=value).trusted_proxies == value


@pytest.mark.parametrize("word", ["slow", "gpt-4.1", "very slow", "langsam_ä", "a%2Eb", "x"])
def test_a_queue_may_be_called_by_any_word_that_a_worker_can_be_given(word: str) -> None:
    assert load_settings(llm_queues={"writer": word}).llm_queues == {"writer": word}


def test_every_fault_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_MAX_TURNS", "many")
    monkeypatch.setenv("TURNWISE_CONCURRENCY", "0")
    with pytest.raises(ConfigurationError, match=r"^TURNWISE_MAX_TURNS is .*; TURNWISE_CONCURRENCY is "):
        load_settings()


# Settings in JSON

JSON_SETTINGS = sorted(name for name, field in ServiceSettings.model_fields.items() if takes_json(field))


@pytest.mark.parametrize("name", JSON_SETTINGS)
def test_every_setting_in_json_has_an_example_that_it_takes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = ServiceSettings.model_fields[name].examples or []
    monkeypatch.setenv(f"TURNWISE_{name.upper()}", json.dumps(example))

    assert len(getattr(load_settings(), name)) == len(example)


@pytest.mark.parametrize("found", ["10.0.0.0/8", "5", "", "null"])
@pytest.mark.parametrize("name", [name for name in JSON_SETTINGS if name != "wire_keys"])
def test_a_value_that_is_not_the_json_of_its_setting_is_told_with_the_example(
    name: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = f"TURNWISE_{name.upper()}"
    monkeypatch.setenv(variable, found)

    with pytest.raises(ConfigurationError) as refused:
        load_settings()

    shown = {"5": "5", "null": "None"}.get(found, repr(found))
    example = json.dumps((ServiceSettings.model_fields[name].examples or [])[0])
    assert str(refused.value) == f"{variable} is {shown}; expected JSON, such as {example}"


def test_json_in_the_env_file_and_in_a_secret_file_is_read_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "TURNWISE_WIRE_KEYS").write_text('["first", "second"]\n')
    (tmp_path / ".env").write_text('TURNWISE_LLM_QUEUES={"writer": "slow"}\n')
    monkeypatch.setenv("TURNWISE_SECRETS_DIR", str(tmp_path / "secrets"))

    found = load_settings()

    assert [key.get_secret_value() for key in found.wire_keys] == ["first", "second"]
    assert found.llm_queues == {"writer": "slow"}


# Secrets in messages


@pytest.mark.parametrize("value", ["winter-of-1947", '["winter-of-1947", 5]', '"winter-of-1947"'])
def test_a_secret_that_is_refused_is_not_shown_either(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_WIRE_KEYS", value)

    with pytest.raises(ConfigurationError, match=r"^TURNWISE_WIRE_KEYS has a secret value that cannot be") as refused:
        load_settings()

    assert "winter" not in "".join(traceback.format_exception(refused.value))


def test_a_password_in_a_url_that_is_refused_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_OIDC_JWKS_URL", "ftp://me:winter-of-1947@issuer.example/keys")

    with pytest.raises(ConfigurationError, match=r"is 'ftp://me:\*\*\*@issuer\.example/keys'; expected a text"):
        load_settings()


def test_a_long_value_is_shown_by_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_TRUSTED_PROXIES", "10.0.0.1," * 1_000)

    with pytest.raises(ConfigurationError, match=r"is '10\.0\.0\.1,.*\.\.\.; expected JSON") as refused:
        load_settings()

    assert len(str(refused.value)) < 400


# Mistyped names


def test_a_mistyped_name_is_refused_with_the_nearest_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_MAX_COTS", "2")
    with pytest.raises(ConfigurationError, match="TURNWISE_MAX_COTS is not a setting; did you mean TURNWISE_MAX_COST"):
        load_settings()


def test_a_name_that_is_like_no_setting_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("turnwise_xyzzy", "1")
    with pytest.raises(ConfigurationError, match=r"TURNWISE_XYZZY is not a setting; docs/configuration\.md lists"):
        load_settings()


def test_a_mistyped_line_and_a_mistyped_file_are_refused_with_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    for name in ("TURNWISE_AUTH_TOKENS", "README.md", "broker.pem"):
        (secrets / name).write_text("any")
    (tmp_path / ".env").write_text("TURNWISE_MAX_TURN=1\nTURNWISE_PORT=8081\nOTHER=1\n")
    monkeypatch.setenv("TURNWISE_SECRETS_DIR", str(secrets))
    with pytest.raises(ConfigurationError) as refused:
        load_settings()
    assert str(refused.value) == (
        "TURNWISE_MAX_TURN (in .env) is not a setting; did you mean TURNWISE_MAX_TURNS?; "
        f"TURNWISE_AUTH_TOKENS (a file in {secrets}) is not a setting; did you mean TURNWISE_AUTH_TOKEN?"
    )


def test_mistyped_names_and_bad_values_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_MAX_COTS", "2")
    monkeypatch.setenv("TURNWISE_MAX_TURNS", "many")
    with pytest.raises(ConfigurationError, match=r"TURNWISE_MAX_COTS is not .*; TURNWISE_MAX_TURNS is "):
        load_settings()


def test_variables_that_kubernetes_sets_for_a_service_of_ours_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for service in ("TURNWISE", "TURNWISE_GATEWAY"):
        monkeypatch.setenv(f"{service}_SERVICE_HOST", "10.0.0.7")
        monkeypatch.setenv(f"{service}_SERVICE_PORT", "8080")
        monkeypatch.setenv(f"{service}_SERVICE_PORT_HTTP", "8080")
        monkeypatch.setenv(f"{service}_PORT", "tcp://10.0.0.7:8080")
        monkeypatch.setenv(f"{service}_PORT_8080_TCP_ADDR", "10.0.0.7")
    load_settings()
    monkeypatch.setenv("TURNWISE_METRICS_PORT", "9090")
    with pytest.raises(ConfigurationError, match="TURNWISE_METRICS_PORT is not a setting"):
        load_settings()


def test_a_setting_of_an_earlier_version_is_refused_with_the_one_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_MOVE_WITH_REPLY", "true")
    with pytest.raises(ConfigurationError, match="MOVE_WITH_REPLY is not a setting; set TURNWISE_MOVES=worker instead"):
        load_settings()


def test_every_name_that_product_and_manuals_use_is_known() -> None:
    known = known_names(ServiceSettings.model_fields)
    folders = [ROOT / name for name in ("shared", "services", "docs", "deploy", "examples", "helm", "bench")]
    texts = [file for folder in folders for file in folder.rglob("*") if file.suffix in (".py", ".md", ".yml", ".env")]

    used = {
        name
        for file in [*texts, ROOT / "docker-compose.yml", ROOT / "README.md"]
        for name in re.findall(r"\bTURNWISE_[A-Z_]*[A-Z]\b", file.read_text())
    }

    assert len(used) > 60
    assert used - known - set(REPLACED) == {"TURNWISE_MAX_COTS"}  # the manual's example of a mistyped name


def test_a_lease_of_three_beats_is_enough() -> None:
    assert load_settings(lease_seconds=3, beat_seconds=1).lease_seconds == 3


@pytest.mark.parametrize("more", [{}, {"auth": "keys"}, {"oidc_audience": "turnwise"}], ids=str)
def test_an_issuer_needs_keys_and_an_audience_where_http_is_served(more: dict[str, str]) -> None:
    found = load_settings(oidc_issuer="https://issuer.example", **more)

    with pytest.raises(ConfigurationError, match=r"TURNWISE_OIDC_ISSUER needs TURNWISE_AUTH=keys, and .*AUDIENCE"):
        found.check_issuer()


@pytest.mark.parametrize("text", ["8080", "host", "host:", ":80", "host:http", "host:70000", "host:-1"])
def test_an_address_is_a_host_and_a_port(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"TURNWISE_BIND is '.*'; expected HOST:PORT"):
        parse_address(text, "TURNWISE_BIND")


def test_an_address_may_be_of_ip_version_6() -> None:
    assert parse_address("[::1]:80", "X") == ("::1", 80)
