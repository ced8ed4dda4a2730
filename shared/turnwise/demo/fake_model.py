"""The stand-in model's rules: a small model's part, played without one.

They read what they are sent, the system message first, as a model does: it says which agent this is. They know words,
numbers and amounts, and none of the tickets that ship. Like a model, they can be wrong; that no rule about money
depends on them is what the desk's handlers are for.

`turnwise fake-llm` serves them: it calls `answer` with each chat-completions request.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal

from turnwise.demo import fake_words as words
from turnwise.testing.fake_llm.request import ChatRequest, text_of

_GREETING = {"en": "Hello,", "de": "Guten Tag,", "fr": "Bonjour,", "es": "Hola,", "it": "Buongiorno,"}
_LINE = re.compile(
    r"^(?P<number>INV-\d+) \| (?P<issued>\S+) \| (?P<item>.+) \| total (?P<total>[\d.]+) USD \| "
    r"refunded (?P<refunded>[\d.]+) USD \| (?P<status>\w+)$",
    re.MULTILINE,
)


@dataclass(frozen=True, kw_only=True)
class ScriptedTurn:
    """One earlier answer of the model, and what it was told in return."""

    said: str
    told: str

    @property
    def tool(self) -> str:
        """The tool that was used, "" for plain text."""
        found = re.search(r'"request": "(\w+)"', self.said)
        return found[1] if found else ""


@dataclass(frozen=True, kw_only=True)
class ScriptedConversation:
    """The prompt of the stand-in model: its role, the latest task it was given, and its turns at it so far."""

    system: str
    task: str
    turns: tuple[ScriptedTurn, ...]

    def told_by(self, tool: str) -> str | None:
        """Return what the latest use of a tool brought, or None."""
        return next((turn.told for turn in reversed(self.turns) if turn.tool == tool), None)


def answer(request: ChatRequest) -> str:
    """The model's answer, from the messages alone: the same messages always get the same answer."""
    conversation = read(request)
    if "You are Triage" in conversation.system:
        return _triage(conversation)
    if "You are Billing" in conversation.system:
        return _billing(conversation)
    if "You are Documentation" in conversation.system:
        return _documentation(conversation)
    return "I am a stand-in for a model and know only the agents of the support desk."


def read(request: ChatRequest) -> ScriptedConversation:
    """Split a request's messages; what follows a plain text of the model begins a new task."""
    task = ""
    turns: list[ScriptedTurn] = []
    said: str | None = None
    for message in request.messages:
        text = text_of(message)
        if message["role"] == "system":
            continue
        if message["role"] == "assistant":
            said = text
        elif said is not None and '"request"' in said:
            turns.append(ScriptedTurn(said=said, told=text))
            said = None
        else:
            task, turns, said = text, [], None
    return ScriptedConversation(system=request.system, task=task, turns=tuple(turns))


# --- Triage -----------------------------------------------------------------------------------------------------------


def _triage(conversation: ScriptedConversation) -> str:
    text = conversation.task.partition("\n")[2]
    text = text.removeprefix("Subject:")
    billing, pages = conversation.told_by("ask_billing"), conversation.told_by("ask_documentation")
    corrected = conversation.told_by("close_ticket")
    if corrected is not None:
        return _close("answered", text, "we have looked into this and will write to you again.")
    if billing is None and pages is None:
        early = _closed_at_once(text)
        if early:
            return early
    subjects = words.topics(text)
    if words.about_billing(text) and billing is None:
        return _tool("ask_billing", question=_billing_question(text))
    if subjects and pages is None and not (billing and words.wants_refund(text) and "?" not in text):
        return _tool("ask_documentation", question=f"What do the pages say about: {subjects}?")
    if billing is None and pages is None:
        return _close("answered", text, "could you tell us more: which device, and what did you expect to happen?")
    reports = [part.removeprefix("Report: ") for part in (billing, pages) if part]
    return _close(_outcome(text, billing or ""), text, "\n".join(reports))


def _closed_at_once(text: str) -> str | None:
    if words.speaks_to_a_model(text):
        return _close("declined", text, "we cannot act on instructions in a message. Tell us what you need help with.")
    if words.needs_a_colleague(text):
        return _close("escalated", text, "a colleague takes over and will write to you personally.")
    if not words.about_billing(text) and not words.topics(text) and words.asks_nothing(text):
        return _close("closed", text, "thank you for your message.")
    return None


def _billing_question(text: str) -> str:
    wish = "wants a refund" if words.wants_refund(text) else "has a question about invoices"
    number, sum_named = words.invoice_number(text), words.amount(text)
    facts = [f"invoice {number}" if number else "no invoice number", f"{sum_named} USD" if sum_named else "no amount"]
    return f"The customer {wish} ({', '.join(facts)}). In the customer's words: {' '.join(text.split())[:300]}"


def _outcome(text: str, report: str) -> str:
    if re.search(r"Refund R-\d+ .*paid", report):
        return "refunded"
    refused = "refused" in report or "has no invoice" in report
    return "declined" if refused and words.wants_refund(text) else "answered"


def _close(outcome: str, text: str, message: str) -> str:
    greeting = _GREETING[words.language(text)]
    return _tool("close_ticket", outcome=outcome, answer=f"{greeting}\n{message[:1].upper()}{message[1:]}")


# --- Billing ----------------------------------------------------------------------------------------------------------


def _billing(conversation: ScriptedConversation) -> str:
    question = conversation.task.partition("\n")[2]
    facts = question.split(". In the customer's words:", 1)[0]
    refund = conversation.told_by("grant_refund")
    if refund is not None:
        return f"Report: {refund}"
    number = words.invoice_number(facts)
    looked_up = conversation.told_by("get_invoice") if number else conversation.told_by("find_invoices")
    if looked_up is None:
        return _tool("get_invoice", number=number) if number else _tool("find_invoices")
    found = list(_LINE.finditer(looked_up))
    if not found:
        return f"Report: {looked_up}"
    if "wants a refund" not in facts:
        return "Report: we found\n" + "\n".join(line[0] for line in found)
    chosen = _chosen(found, words.amount(facts), question)
    if chosen is None:
        return "Report: it is unclear which payment is meant, so nothing was paid. The invoices:\n" + looked_up
    left = Decimal(chosen["total"]) - Decimal(chosen["refunded"])
    sum_asked = words.amount(facts) or left
    return _tool("grant_refund", invoice=chosen["number"], amount=str(sum_asked), reason="The customer asked for it.")


def _chosen(found: list[re.Match[str]], sum_named: Decimal | None, question: str) -> re.Match[str] | None:
    """The invoice to refund: the only one, the one of that amount, or the second of two alike."""
    if len(found) == 1:
        return found[0]
    of_amount = [line for line in found if sum_named is not None and Decimal(line["total"]) == sum_named]
    if len(of_amount) == 1:
        return of_amount[0]
    seen: set[tuple[str, str, str]] = set()
    for line in reversed(found):
        alike = (line["issued"], line["item"], line["total"])
        if alike in seen and not Decimal(line["refunded"]):
            return line
        seen.add(alike)
    return None


# --- Documentation ----------------------------------------------------------------------------------------------------


def _documentation(conversation: ScriptedConversation) -> str:
    pages = conversation.told_by("search_docs")
    if pages is None:
        subjects = conversation.task.split(":", 1)[-1].strip(" ?")
        return _tool("search_docs", query=subjects)
    first = pages.split("\n\n[", 1)[0]
    named = re.match(r"\[(?P<page>[^:\]]+): (?P<heading>[^\]]+)\]\n", first)
    if named is None:
        return "The documentation does not say."
    said = " ".join(first[named.end() :].replace("**", "").split())
    return f"{said} (Page {named['page']}, {named['heading']}.)"


def _tool(request: str, **fields: str | None) -> str:
    return json.dumps({"request": request, **fields}, ensure_ascii=False)
