"""The secrets that are cut out of texts before they are logged or kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import grows_with_length

from turnwise.observability.redaction import _FORMS, HIDDEN, MOST_TOLD, hide, redact, redact_beginning, redacted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://app:hunter22@db/x does not answer", "postgresql://app:***@db/x does not answer"),
        ("redis://:p%40ss@host/1", "redis://:***@host/1"),
        ("amqp://u:a:b@h//", "amqp://u:***@h//"),
        ("Incorrect API key provided: sk-proj-AbCdEf123456.", "Incorrect API key provided: sk-***."),
        ("Incorrect API key provided: sk-abcd****wxyz", "Incorrect API key provided: sk-***"),
        ("{'Authorization': 'Bearer abc.def-123456'}", "{'Authorization': 'Bearer ***'}"),
        ("authorization=Basic dXNlcjpwYXNz", "authorization=Basic ***"),
        ("sent Bearer abcdefgh1234", "sent Bearer ***"),
        ('{"password": "s3cret!!", "user": "me"}', '{"password": "***", "user": "me"}'),
        ("connect(host=db password=s3cret port=1)", "connect(host=db password=*** port=1)"),
        ("api_key=0123456789&x=1", "api_key=***&x=1"),
        ("token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1", "token eyJ***"),
        ("id-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1", "id-eyJ***"),
        ("eyJ-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.", "eyJ***"),
        ("git+https://me:s3cret@host/x", "git+https://me:***@host/x"),
        ("x-http://a:b-c@d and http://e:f@g", "x-http://a:***@d and http://e:***@g"),
        ("aws AKIAIOSFODNN7EXAMPLE", "aws AKIA***"),
        # Schemes of other kinds, with the word before the credential.
        ("{'Authorization': 'Token 9944b09199c62bcf9418'}", "{'Authorization': '***'}"),
        ("Authorization: ApiKey aGVsbG8gd29ybGQ= was sent", "Authorization: *** was sent"),
        ('Authorization: Digest username="me", response="8ca523f5e9"\nHost: a', "Authorization: ***\nHost: a"),
        ("HTTP_AUTHORIZATION=Bearer ab-123", "HTTP_AUTHORIZATION=Bearer ***"),
        # Values in quotes, to their end.
        ('{"password": "correct horse battery staple", "n": 1}', '{"password": "***", "n": 1}'),
        ('password="Tr0ub4dor,and3more" port=1', 'password="***" port=1'),
        ("password='it\\'s \"mine\", now' port=1", "password='***' port=1"),
        ('{"password": "correct horse\n and so on', '{"password": "***\n and so on'),
        # Texts of JSON within JSON.
        ('{"arguments": "{\\"password\\": \\"hunter2 hunter2\\"}"}', '{"arguments": "{\\"password\\": \\"***\\"}"}'),
        (r"{\"api_key\": \"abcdef123456\"}", r"{\"api_key\": \"***\"}"),
        (r'{"said": "password=hunter22\" and"}', r'{"said": "password=***\" and"}'),
        # Names and forms of keys.
        ("aws_secret_access_key=wJalr/K7MD+bPx", "aws_secret_access_key=***"),
        ("key AIzaSyA1234567890abcdefghijklmnopqrstuv", "key AIza***"),
        ("github_pat_11ABCDEFG0_abcdefg", "github_pat_***"),
        ("/callback?refresh_token=1//abc&access_token=ya29.abc", "/callback?refresh_token=***&access_token=***"),
        ("/feed?a=1&token=abcdefgh&key=0123456789&b=2", "/feed?a=1&token=***&key=***&b=2"),
        ("connect(token='0123456789abcdefg')", "connect(token='***')"),
    ],
)
def test_what_looks_like_a_secret_is_cut_out(text: str, expected: str) -> None:
    assert redact(text) == expected
    assert redact(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a task-oriented desk-clerk asks",
        "see https://example.com/a:b and mail me@example.com",
        "http://127.0.0.1:8080/v1/runs",
        "password",
        "the limit on tokens: 5000",
        "expected postgresql://USER:PASSWORD@HOST:PORT/DATABASE or amqp://USER:PASSWORD@HOST:5672//",
        "basic idea",
        "a bearer of news",
        "risk-averse, ask_01hxyz12345, turn.asked",
        "Unexpected token: someVeryLongIdentifierName, max_tokens=1000",
        "send the header `Authorization: Bearer` with a key, or password=''",
        '{"token": "Hello", "key": "value", "password": ""}',
        "authorization: none",
        "eyJ.eyJabc.eyJabcdefgh, heyJude-lalalala.lalalala.la, ://a:b@c",
    ],
)
def test_innocent_texts_stay(text: str) -> None:
    assert redact(text) == text


_PIECES = (
    *("a", "a-", "a.", "-", " ", "'", ":", "://", "a://", "a://b:", "a://b:c", "eyJ-", "eyJabcdefgh-", "eyJabcdefgh."),
    *("authorization ", "authorization='x ", "bearer ", "basic\tx", "sk-", "xoxb-a ", "AKIA", "tw_0123456789ab_"),
    *("whsec_", "password", "password ", "api key\t", "secret='***", "auth-token:", "secret_", "&token=", "token=a"),
    *("password='", "password=\"'", 'password="', 'password=\\"', 'password=\\\\\\"', 'password="\\', "password=\\"),
    *("authorization:x ", "authorization:x a=", "authorization:bearer ", 'authorization:x a="b\n', "authorization:'"),
)
_BEGUN = (
    *(("a://b:", piece) for piece in ("a", ":", "a-")),
    *(
        (word, " ")
        for word in ("authorization", "authorization:x", "authorization:bearer", "bearer", "key=", "password=")
    ),
    *((f'password={start}"', piece) for start in ("", "\\") for piece in ("\\", '\\"', '\\\\\\"', "'", "password='")),
)


@pytest.mark.parametrize(("begin", "piece"), [*(("", piece) for piece in _PIECES), *_BEGUN])
def test_a_long_hostile_text_takes_time_that_grows_with_its_length(begin: str, piece: str) -> None:
    grows_with_length(redact, begin, piece)


def test_quotes_of_many_kinds_that_nothing_closes_take_time_that_grows_with_the_length() -> None:
    def read(text: str) -> str:
        # Openings with ever more backslashes, before a long text without an end.
        return redact("".join(f'password={chr(92) * count}"x ' for count in range(40, -1, -1)) + text)

    grows_with_length(read, "", "a b\\'")


_TEXTS = st.text(st.sampled_from("ab \\\"',{}:"), min_size=4, max_size=20).map(lambda text: f"hunter2{text}hunter2")


@given(_TEXTS, st.integers(0, 4), st.booleans())
def test_json_within_json_stays_json_without_the_secret(secret: str, depth: int, spaced: bool) -> None:
    value: object = {"user": "me", "password": secret, "n": 1}
    separators = (", ", ": ") if spaced else (",", ":")
    text = json.dumps(value, separators=separators)
    for _ in range(depth):
        text = json.dumps({"text": text}, separators=separators)

    found = json.loads(redact(text))

    for _ in range(depth):
        found = json.loads(found["text"])
    assert found == {"user": "me", "password": "***", "n": 1}


def test_a_known_secret_is_cut_out_in_each_form_of_it() -> None:
    secret = 'zürich "pass"/17'
    hide(secret)

    assert redact(f"it is {secret}") == "it is ***"
    assert redact('{"it": "zürich \\"pass\\"/17"}') == '{"it": "***"}'
    assert redact('{"it": "z\\u00fcrich \\"pass\\"/17"}') == '{"it": "***"}'
    assert redact("x=z%C3%BCrich%20%22pass%22%2F17") == "x=***"


def test_of_a_known_url_its_password_is_the_secret() -> None:
    hide("amqp://user:correct%20horse@host:5672//")

    assert redact("login failed with correct horse") == "login failed with ***"
    assert redact("user on host:5672") == "user on host:5672"


def test_a_password_that_is_the_users_name_is_cut_out_of_urls_only() -> None:
    hide(url := "postgresql://clerk-app:clerk-app@db:5432/clerk-app")

    assert redact("run `clerk-app migrate`") == "run `clerk-app migrate`"
    assert redact(f"{url} does not answer") == "postgresql://clerk-app:***@db:5432/clerk-app does not answer"


def test_what_is_too_short_to_be_one_is_no_secret() -> None:
    hide("run")
    hide("")
    hide(None)

    assert redact("run run_1") == "run run_1"


def test_json_is_redacted_at_any_depth_and_keeps_its_form() -> None:
    value = {"error": {"message": "sk-abcdef123456", "list": ["Bearer abcdefgh1", 1, None]}, "n": 1.5}

    assert redacted(value) == {"error": {"message": "sk-***", "list": ["Bearer ***", 1, None]}, "n": 1.5}


def test_the_beginning_of_a_text_is_as_long_as_was_asked_for() -> None:
    assert redact_beginning("sk-abcdef123456 is no key", 100) == "sk-*** is no key"
    assert redact_beginning("a" * 100, 100) == "a" * 100
    assert redact_beginning("a" * 101, 100) == "a" * 100 + "…"
    assert redact_beginning("a" * 1_000_000) == "a" * MOST_TOLD + "…"


@pytest.mark.parametrize("before", ["a " * 20, "secret=" + "x" * 90 + " ", "a " * 2_500, "secret=" + "x" * 6_000 + " "])
@pytest.mark.parametrize("shift", range(0, 60, 7))
def test_a_beginning_ends_in_no_part_of_a_secret(before: str, shift: int) -> None:
    hide(known := "correct horse battery staple")
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1"

    told = redact_beginning(f"{before}{'.' * shift}{known} {token} postgresql://me:hunter22@db " + "b" * 10_000, 100)

    assert not any(part in told for part in ("correct", "horse", "staple", "eyJh", "hunter", "xxxx"))


@pytest.mark.parametrize("length", range(5_060, 5_160, 9))
def test_where_the_text_is_cut_no_part_of_a_secret_is_left(length: int) -> None:
    hide(known := "correct horse battery staple")
    hidden = "secret=" + "x" * (length - 60) + " "  # becomes short, so that the cut end moves to the front

    told = redact_beginning(f"{hidden}{'.' * 50}{known} {known} {known} {known}{' and so on' * 1_000}", 100)

    assert "correct" not in told


_BITS = st.sampled_from(
    [
        *(
            "password",
            "api_key",
            "Authorization",
            "Bearer",
            "Digest a",
            "TOKEN",
            "Refresh-Token",
            "secret",
            "passphrase",
        ),
        *(
            "sk-",
            "gsk_",
            "ghp_",
            "github_pat_",
            "AKIA",
            "AIza",
            "tw_0123456789ab_",
            "whsec_",
            "eyJ",
            "xoxb-",
            "://u:",
            "@h",
        ),
        *(
            "?key=",
            "&sig=",
            ";x-amz-security-token=",
            "=",
            ":",
            " ",
            '"',
            "'",
            '\\"',
            ",",
            ".",
            "0123456789abcdef",
            "ABCDEFGHIJKLMNOP",
        ),
        *("\u017fecret", "to\u212aen"),  # letters that are an s and a k where case does not count
    ]
)


@given(st.lists(_BITS, max_size=12).map("".join))
def test_no_form_is_passed_over_that_would_find_something(text: str) -> None:
    expected = text
    for form in _FORMS:
        expected = form.pattern.sub(rf"\g<1>{HIDDEN}", expected)
    assert redact(text) == expected
