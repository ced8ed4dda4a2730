"""Our own scenarios: each holds one or a few of the numbered rules of docs/rules, in every way of running a task."""
