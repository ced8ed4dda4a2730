"""Adds the results of the batch up by customer: `python totals.py results.jsonl`."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from decimal import Decimal
from pathlib import Path


def main(path: Path) -> None:
    due: defaultdict[str, Decimal] = defaultdict(Decimal)
    for line in filter(None, path.read_text().split("\n")):
        item = json.loads(line)
        if item["status"] == "completed" and item["tools"]:
            (invoice,) = item["tools"]
            due[invoice["customer"]] += Decimal(invoice["total"])
        else:
            print(f"{item['id']} was not read: {item['status']} {item['result'] or ''}")
    for customer, total in sorted(due.items()):
        print(f"{customer:15} {total:10} EUR")
    print(f"{'all':15} {sum(due.values()):10} EUR")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
