"""The stand-in model's reading of a text: numbers, amounts, and words of six languages that tell its subject."""

from __future__ import annotations

import re
from decimal import Decimal

_INVOICE = re.compile(r"\bINV[-\s#]*(\d{3,6})\b", re.IGNORECASE)
_AMOUNT = re.compile(
    r"(?:[$€]|\b(?:USD|EUR)\b)\s*(\d{1,6}(?:[.,]\d{1,2})?)\b"
    r"|\b(\d{1,6}(?:[.,]\d{1,2})?)\s*(?:[$€]|\b(?:USD|EUR|dollars?|euros?|bucks|d[oó]lares)\b)",
    re.IGNORECASE,
)

_REFUND = re.compile(
    r"refund|reimburs|money back|pay(?:ment)? back|give .{0,20}back|charged? (?:me )?(?:two times|twice|again|double)"
    r"|double[- ]?charge|cobrad[oa] (?:dos|duas) v|erstatt|rückzahl|zurückzahl|geld zurück|doppelt|rembours"
    r"|deux fois|reembols|devoluci|devolv|rimbors|due volte|zwrot|terugbetal|återbetal|twee keer|dubbel",
    re.IGNORECASE,
)
_BILLING = re.compile(
    r"invoice|bill(?:ed|ing)?\b|charge[ds]?\b|receipt|rechnung|abgebucht|factur|fattur|faktur|cobr[oa]|bezahlt",
    re.IGNORECASE,
)
_ESCALATE = re.compile(
    r"lawyer|attorney|legal action|\bsue\b|court|police|gdpr|data protection|hacked|stolen|someone (?:else )?(?:is|has)"
    r"|anwalt|avocat|abogad|avvocato|dsgvo|gehackt|pirat[ée]|kill myself|hurt myself|threat",
    re.IGNORECASE,
)
_THANKS = re.compile(r"thank|danke|merci|gracias|grazie|obrigad|dzięk|tack|love (?:your|the)|great", re.IGNORECASE)
_ADVERTISING = re.compile(
    r"seo\b|backlinks?|rank(?:ing)?s? on google|unsubscribe|special offer|partnership", re.IGNORECASE
)
# Text that speaks to a model, not to a support desk.
_INJECTION = re.compile(
    r"\"request\"\s*:|'request'\s*:|grant_refund|close_ticket|ask_billing"
    r"|system ?(?:prompt|message|override)|\[?system\]?:"
    r"|(?:ignore|disregard|forget|override).{0,40}(?:instruction|rule|prompt|polic|above|previous)"
    r"|ignor\w*.{0,40}(?:anweisung|regel|instru|règle|regla|regol)|you are (?:now|no longer)|developer mode|jailbreak"
    r"|pretend (?:to be|you)|as an? (?:ai|language model)",
    re.IGNORECASE | re.DOTALL,
)

# A word's beginning in some language, and the words of the documentation for it.
_TOPICS = (
    (r"export|exportier|exporter|esport|eksport", "export notes"),
    (r"import", "import notes"),
    (r"print|drucken|imprim|stampa", "printing print"),
    (r"offline|hors ligne|sin conexi|without (?:internet|a connection|network)|flugzeug|plane", "working offline"),
    (r"conflict|konflikt|conflit", "conflicts conflicted copy"),
    (r"\bsync|synchron|sincroni", "sync does not work"),
    (r"passwor|passwort|mot de passe|contraseñ|senha|hasł|wachtwoord|lösenord", "reset password forgot"),
    (r"two[- ]factor|2fa|authenticator|zwei-faktor|recovery code", "two-factor authentication"),
    (r"e-?mail address|adresse e-?mail", "change email address"),
    (r"(?:delete|close|erase|remove).{0,20}account|konto.{0,20}löschen|supprimer.{0,20}compte", "delete account"),
    (r"share|sharing|teilen|partag|compartir|compartilh|condivid|udostępni|delen|dela ", "share a notebook"),
    (r"public link|öffentlich", "public links"),
    (r"\bcomments\b|comment on|kommentar", "comments"),
    (r"cancel|kündig|résili|annul|cancelar", "cancel a subscription"),
    (r"upgrade|downgrade|change.{0,15}plan|switch.{0,20}plan", "change plan upgrade downgrade"),
    (r"how much|price|pricing|preis|\bprix\b|precio|prezzo|cost", "plans prices"),
    (r"payment method|credit card|new card|kreditkarte", "payment methods card"),
    (r"dark mode|dark theme|dunkel|mode sombre|modo oscuro", "dark mode appearance"),
    (r"widget", "widgets"),
    (r"scan", "scanning paper"),
    (r"notification|reminder|erinnerung", "notifications reminders"),
    (r"crash|does ?n.t start|won.t (?:start|open)|abst[uü]rz|plante", "app crashes start"),
    (
        r"disappear|gone|vanish|lost .{0,15}note|missing|verschwunden|disparu|desaparec|spariti",
        "note disappeared trash",
    ),
    (r"search|suche|recherche|buscar|szuka", "search finds nothing index"),
    (r"slow|langsam|lent\b|lento", "editor slow"),
    (r"\bapi\b|api key|rate limit", "API keys"),
    (r"webhook", "webhooks"),
    (r"plug-?in", "plug-ins"),
    (r"shortcut|tastenk|raccourci", "keyboard shortcuts"),
    (r"\btags?\b|etiquet", "notebooks tags"),
)
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), words) for pattern, words in _TOPICS)

_LANGUAGES = {
    "de": r"\b(?:ich|nicht|und|bitte|der|die|das|mein|wie|ist|eine?)\b",
    "fr": r"\b(?:je|vous|les?|une?|est|pas|mes|bonjour|comment|pour|mon)\b",
    "es": r"\b(?:hola|por|una?|el|los|mis?|cómo|está|quiero|gracias|favor|me)\b",
    "it": r"\b(?:ciao|il|della?|sono|come|vorrei|grazie|non|mia|per|buongiorno)\b",
}
_COUNTERS = {code: re.compile(pattern, re.IGNORECASE) for code, pattern in _LANGUAGES.items()}


def invoice_number(text: str) -> str | None:
    """The first invoice number, in the desk's spelling."""
    found = _INVOICE.search(text)
    return f"INV-{found[1]}" if found else None


def amount(text: str) -> Decimal | None:
    """The first amount of money, with a decimal comma or point."""
    found = _AMOUNT.search(_INVOICE.sub(" ", text))
    return Decimal((found[1] or found[2]).replace(",", ".")) if found else None


def wants_refund(text: str) -> bool:
    return bool(_REFUND.search(text))


def about_billing(text: str) -> bool:
    return wants_refund(text) or bool(_BILLING.search(text)) or invoice_number(text) is not None


def topics(text: str) -> str:
    """Words to search the documentation for, "" if the text is about none of its subjects."""
    return "; ".join(words for pattern, words in _COMPILED if pattern.search(text))


def speaks_to_a_model(text: str) -> bool:
    return bool(_INJECTION.search(text))


def needs_a_colleague(text: str) -> bool:
    return bool(_ESCALATE.search(text))


def asks_nothing(text: str) -> bool:
    """Thanks, advertising, or next to nothing."""
    said = " ".join(text.split())
    if len(said) < 12 or _ADVERTISING.search(said):
        return True
    return bool(_THANKS.search(said)) and "?" not in said


def language(text: str) -> str:
    """The likeliest of de, fr, es, it, else en."""
    counts = {code: len(pattern.findall(text)) for code, pattern in _COUNTERS.items()}
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] >= 3 else "en"
