"""The ledger: no model is called before what the call may use was reserved.

The arithmetic (`budget`, `call`) is pure and knows no store, no clock and no model. A *gate* is what calls pass: a
`purse` is that of a run in memory, and `turnwise.serving` has that of a served run, over the same arithmetic.
"""
