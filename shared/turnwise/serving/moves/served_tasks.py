"""Tasks that bring their own rules, in a move: copies of the application's, with what was saved of them."""

from __future__ import annotations

import copy
from typing import Any

from turnwise.agents.attributes import saving
from turnwise.models.base import LLMMessage
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.serving.attempts.served_agent import Registry, ServedAgent, over_template
from turnwise.serving.moves.run_documents import RunDocuments
from turnwise.tasks.overrides import TaskOverrides
from turnwise.tasks.own_attributes import template_of
from turnwise.tasks.task import Task
from turnwise.tasks.tree import TaskTree


class ServedTasks:
    """The tasks whose rules are asked in a move, each over its agent as it is now.

    They are copies, because a task that is asked looks at one run, and other threads move other runs.
    """

    def __init__(self, tx: RunTransaction, tree: TaskTree, registry: Registry, documents: RunDocuments) -> None:
        self._tx = tx
        self._tree = tree
        self._registry = registry
        self._documents = documents
        self._tasks: dict[str, Task[Any]] = {}
        self._agents: dict[str, ServedAgent] = {}
        self.overrides = TaskOverrides(tree.tasks, Task, self._taken) or None

    def save(self) -> list[str]:
        """Save what the rules have changed of tasks and agents; returns the keys of the agents that were looked at."""
        for key, served in self._agents.items():
            record = served.agent.record
            kept = dict(record.tasks or {})
            for path, task in self._tasks.items():
                if self._key(path) == key:
                    template = template_of(self._tree.tasks[path], self._registry)
                    kept[path] = saving.found(task, template)
            record.tasks = {path: found for path, found in kept.items() if found} or None
            self._tx.save_agent(key, record=served.record(), state=served.state())
            keep, rows = served.history_changes()
            if keep is not None:
                self._tx.cut_history(key, keep)
            if rows:
                self._tx.append_history(key, rows)
        looked_at = list(self._agents)
        self._tasks.clear()
        self._agents.clear()
        return looked_at

    def _taken(self, path: str, template: Task[Any]) -> Task[Any]:
        task = self._tasks.get(path)
        if task is None:
            served = self._agent(self._key(path))
            task = self._tasks[path] = copy.copy(template)
            task.agent = served.agent
            saved = (served.agent.record.tasks or {}).get(path, {})
            saving.begin(task, template_of(template, self._registry), saved, served.agent.history.find)
        return task

    def _agent(self, key: str) -> ServedAgent:
        served = self._agents.get(key)
        if served is None:
            saved = self._tx.agent(key)
            served = over_template(
                self._tree.agents[key], saved, self._registry, lambda: self._history(key, saved.history_len)
            )
            served.agent.history.finder = self._documents.find
            self._agents[key] = served
        return served

    def _history(self, key: str, length: int) -> list[LLMMessage]:
        return [LLMMessage.model_validate(self._tx.history_row(key, idx).body) for idx in range(length)]

    def _key(self, path: str) -> str:
        return self._tree.root.at(path).agent
