"""The tables of model calls that wait for a batch of their provider, and of those batches."""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database.columns import Document, Seconds, metadata

# The model's call of an ask that can wait. It is collected (neither `batch_id` nor `response`), submitted (`batch_id`),
# or answered (`response`); the reply to the ask deletes it.
collected_asks = sa.Table(
    "collected_asks",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("ask_id", sa.Text, primary_key=True),
    sa.Column("provider", sa.Text, nullable=False),  # as in `provider_buckets`
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("request", Document, nullable=False),  # the body of a call
    # The reservation for it: the claim's token and the call's number; NULL without one.
    sa.Column("token", sa.Integer),
    sa.Column("call_no", sa.Integer),
    sa.Column("collected_at", Seconds, nullable=False),
    sa.Column("until", Seconds, nullable=False),  # from then on the model is called directly
    sa.Column("tries", sa.Integer, nullable=False, server_default="0"),  # batches that did not answer it
    sa.Column("error", sa.Text),  # of the last of them
    sa.Column("batch_id", sa.Text),
    sa.Column("response", Document),
    sa.Column("usage", Document),  # of the response, with its price
)
sa.Index("ix_collected_asks_batch", collected_asks.c.batch_id, collected_asks.c.provider, collected_asks.c.collected_at)

provider_batches = sa.Table(
    "provider_batches",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("provider", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("created_at", Seconds, nullable=False),
    sa.Column("remote_id", sa.Text),  # NULL: no one knows whether the provider has it
    sa.Column("file_id", sa.Text),
    sa.Column("submitted_at", Seconds),
    sa.Column("looks", sa.Integer, nullable=False, server_default="0"),
    sa.Column("look_at", Seconds, nullable=False),  # no worker has to do anything with it before then
    # The worker that is at it, as long as it lives, and not longer than that.
    sa.Column("leased_by", sa.Text),
    sa.Column("leased_until", Seconds, nullable=False, server_default="0"),
)
sa.Index("ix_provider_batches_look", provider_batches.c.look_at)
