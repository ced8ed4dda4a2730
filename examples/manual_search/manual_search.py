"""Questions about a manual, answered from its pages, with the page's name; nothing is made up.

In this process:  cd examples/manual_search && python manual_search.py "The red lamp blinks fast"
Served:           cd examples/manual_search && turnwise up --app manual_search:app
                  turnwise chat ask "The red lamp blinks fast"

Needs: pip install 'turnwise[retrieval]'. With OPENAI_API_KEY set, a real model answers, and OpenAI's vectors find.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from pydantic import BaseModel, Field

from turnwise import (
    App,
    ChatAgent,
    ChatAgentConfig,
    Document,
    DoneTool,
    HashingEmbedder,
    MockLMConfig,
    OpenAIEmbedder,
    OpenAIGPTConfig,
    RetrievalTool,
    SqliteVectorConfig,
    Task,
    ToolMessage,
    ingest_documents,
)

PAGES = Path(__file__).parent / "manual"
SYSTEM_MESSAGE = """\
You answer questions about a coffee machine from its manual. Retrieve passages first, with words of the question.
Then answer in one or two sentences with the names of the pages. If no passage answers it, say so with an empty list.
"""

app = App("manual")


class Search(RetrievalTool):
    """The library's tool, which hands over no passage that has little to do with the question."""

    _min_score = 0.15


class Answer(ToolMessage):
    request: str = "give_answer"
    purpose: str = "To end with the <answer> and the <pages> that it is taken from; none if the manual does not say it."
    answer: str = Field(min_length=1)
    pages: list[str]


class Guide(ChatAgent):
    """Lets no answer pass that names a page which was not retrieved."""

    class State(BaseModel):
        seen: list[str] = []

    state: State

    def retrieve(self, tool: Search) -> str:
        found = tool.handle(self)
        self.state.seen += [passage["source"] for passage in json.loads(found)["passages"]]
        return found

    def give_answer(self, tool: Answer) -> DoneTool | str:
        if unknown := set(tool.pages) - set(self.state.seen):
            return f"You have not retrieved {', '.join(sorted(unknown))}. Answer from the passages."
        source = f" ({', '.join(tool.pages)})" if tool.pages else ""
        return DoneTool(content=tool.answer + source)


def scripted_model(message: str) -> str:
    """Retrieve with the question's own words; then quote the sentence that shares most of the longer ones with it."""
    if not message.startswith('{"query"'):
        return Search(query=message, k=1).to_json()
    found = json.loads(message)
    wanted, best = _words(found["query"]), next(iter(found["passages"]), None)
    text = re.sub(r"^#.*$", "", best["text"], flags=re.MULTILINE).strip() if best else ""
    said = max(re.split(r"(?<=\.)\s+", text), key=lambda sentence: sum(map(len, wanted & _words(sentence))))
    if best is None or not wanted & _words(said):
        return Answer(answer="The manual does not say that.", pages=[]).to_json()
    return Answer(answer=" ".join(said.split()), pages=[best["source"]]).to_json()


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{4,}", text.lower()))


def index(path: Path = Path("manual.db")) -> SqliteVectorConfig:
    """The store with the manual's pages; adding them again changes nothing, so every process may do it."""
    real = bool(os.environ.get("OPENAI_API_KEY"))
    store = SqliteVectorConfig(
        path=path, collection="openai" if real else "words", embedder=OpenAIEmbedder() if real else HashingEmbedder()
    )
    opened = store.open()
    if not opened.count():
        pages = [(page.name, page.read_text()) for page in sorted(PAGES.glob("*.md"))]
        documents = [Document(id=name, text=text, metadata={"source": name}) for name, text in pages]
        ingest_documents(opened, documents, size=300, overlap=0)
    return store


@app.task
def ask() -> Task:
    real = bool(os.environ.get("OPENAI_API_KEY"))
    llm = OpenAIGPTConfig() if real else MockLMConfig(response_fn=scripted_model)
    agent = Guide(ChatAgentConfig(name="Guide", llm=llm, vecdb=index(), system_message=SYSTEM_MESSAGE))
    agent.enable_message([Search, Answer])
    return Task(agent, interactive=False)


if __name__ == "__main__":
    result = ask().run(sys.argv[1] if len(sys.argv) > 1 else "The red lamp blinks fast")
    print(result.content if result else "no answer")
