"""The whole record of runs, as services use it."""

from __future__ import annotations

from turnwise.runs.claims import Claims
from turnwise.runs.inbox import Inbox
from turnwise.runs.queries import Queries
from turnwise.runs.replies import Replies
from turnwise.runs.sessions import Sessions
from turnwise.runs.submission import Submissions
from turnwise.runs.sweep import Sweep
from turnwise.runs.workers import Workers


class Store(Submissions, Sessions, Workers, Claims, Replies, Inbox, Sweep, Queries):
    """Everything that is done to the record; each part is a file of its own.

    Safe to share between threads, not across a fork. Every method raises `DatabaseUnavailableError` when the database
    does not answer, and then has changed nothing, or (a lost answer to the commit) everything.
    """
