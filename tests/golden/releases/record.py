"""Records the runs of a release: `python -m tests.golden.releases.record VERSION`, once, before it is published.

Scenarios of the rules are played as served runs, and each run is exported as `turnwise export` does. The files
are never written again: later code has to decide these runs as they were decided then.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.rules.catalogue import scenarios
from tests.rules.served import serving

from turnwise.record.database.database import Database
from turnwise.record.store import Store

HERE = Path(__file__).parent
# Something of each kind of rule: who answers, tools and calls, sub-tasks, humans, sessions, results, limits, errors.
CHOSEN = (
    "a-state-lasts-between-turns",
    "a-sub-tasks-state-lasts-from-call-to-call",
    "an-agent-without-a-model-lets-others-answer",
    "the-human-comes-first-unless-he-was-the-last-one-asked",
    "sub-tasks-are-tried-in-the-order-of-adding",
    "too-many-stalled-steps-end-the-task-without-a-result",
    "a-pass-leaves-the-message-to-the-next-one",
    "a-done-tool-in-agents-document-ends-the-task",
    "each-call-has-its-result-and-is-closed-by-it",
    "a-sub-tasks-result-answers-the-open-call",
    "old-turns-may-be-left-out",
    "bad-fields-are-each-named-and-the-tool-is-asked-for-again",
    "a-tool-may-be-written-as-xml",
    "an-error-of-a-handler-ends-the-run",
    "an-error-in-a-sub-task-ends-the-whole-run",
    "a-model-that-fails-ends-the-run",
    "without-restart-a-run-goes-on-with-the-one-before",
    "a-run-without-a-message-goes-on-from-the-last-one",
    "erase-substeps-leaves-the-question-and-the-answer",
    "a-handler-may-drop-the-last-messages",
    "the-global-limit-comes-before-the-tasks-own",
    "a-run-out-of-time-ends-before-anybody-is-asked",
    "a-conversation-that-repeats-itself-is-ended",
    "a-call-that-could-cost-too-much-is-not-made",
    "a-refused-call-of-a-sub-task-ends-all-its-callers",
    "tokens-of-the-whole-tree-count",
    "an-empty-answer-to-a-question-is-null",
    "a-human-quits-with-small-quit-words-or-by-saying-done",
    "a-final-result-of-a-sub-task-is-the-roots",
    "a-forward-goes-to-the-agent-of-that-name",
    "a-model-may-take-back-what-it-said",
    "an-override-that-raises-ends-the-run",
    "a-tool-and-its-result-are-a-sequence",
    "a-typed-tool-for-handlers-is-handled-by-nobody",
    "a-tool-enabled-during-a-run-stays-and-is-told-to-the-model",
)


def record(version: str) -> list[Path]:
    """Play what was chosen, and write a file for each run; gives the files."""
    folder = HERE / version
    folder.mkdir()
    by_id = {each.id: each for each in scenarios()}
    chosen = [by_id[name] for name in CHOSEN]
    written = []
    with tempfile.TemporaryDirectory() as temporary:
        database = Database(f"sqlite:///{temporary}/record.db")
        database.migrate()
        store = Store(database, lease_seconds=3_600)
        with serving(store, chosen) as player:
            for scenario in chosen:
                before = {run.id for run in store.inspector.runs(limit=200)[0]}
                player.play(scenario)
                new = [run.id for run in store.inspector.runs(limit=200)[0] if run.id not in before]
                for no, run_id in enumerate(reversed(new), 1):
                    written.append(folder / f"{scenario.id}.{no}.json")
                    text = json.dumps(store.inspector.export(run_id), ensure_ascii=False, separators=(",", ":"))
                    written[-1].write_text(text + "\n", encoding="utf-8")
        database.close()
    return written


if __name__ == "__main__":
    files = record(sys.argv[1])
    print(f"{len(files)} runs, {sum(file.stat().st_size for file in files) // 1024} KB")
