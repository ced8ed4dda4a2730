"""Breaks rules one by one and sees which scenarios notice: `python -m tests.rules.mutation [--write]`.

Each mutant is a copy of the package with one change, in which all scenarios are played (with `run`). It is caught by
the rule's own scenarios if one fails that says that it covers the rule. `--write` keeps the recorded scenarios that
failed (of the rules that are named, or of all), which is what docs/rules/coverage.md tells of them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.rules.catalogue import scenarios
from tests.rules.mutants import MUTANTS, Mutant

_ROOT = Path(__file__).parents[2]
_RECORDED = Path(__file__).parent / "recorded.json"
# Recorded scenarios that are named for one rule.
_MOST = 6
_SECONDS = 300

Failing = dict[str, list[str]]


def try_out(mutant: Mutant) -> Failing | None:
    """Return the failures with the mutant; None if nothing can be played at all, which is as good as caught.

    Raises `ValueError` if the code that it changes is not there.
    """
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "turnwise"
        shutil.copytree(_ROOT / "shared" / "turnwise", package, ignore=shutil.ignore_patterns("__pycache__"))
        file = package / mutant.file
        text = file.read_text(encoding="utf-8")
        if text.count(mutant.old) != 1:
            raise ValueError(f"{mutant.file} has {mutant.old!r} {text.count(mutant.old)} times; expected it once")
        file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        path = os.pathsep.join([folder, str(_ROOT), str(_ROOT / "tests")])
        command = [sys.executable, "-W", "ignore", "-m", "tests.rules.noticed"]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": path},
            )
        except subprocess.TimeoutExpired:
            return None
        return json.loads(done.stdout) if done.returncode == 0 else None


def verdict(mutant: Mutant, failing: Failing | None) -> str:
    """Return the scenarios that noticed the mutant."""
    if failing is None:
        return "everything fails"
    covering = {each.id for each in scenarios() if set(mutant.rules) & set(each.covers)}
    mine = [name for name in failing["own"] if name in covering]
    counts = f"own {len(failing['own'])}, recorded {len(failing['recorded'])}"
    if mine:
        return f"caught by {mine[0]} ({counts})"
    return f"NOT CAUGHT by its own scenarios ({counts}: {', '.join([*failing['own'], *failing['recorded']][:4])})"


def main() -> None:
    """Try out all mutants, or those of the rules that are named."""
    wanted = {name for name in sys.argv[1:] if not name.startswith("-")}
    recorded: dict[str, list[str]] = json.loads(_RECORDED.read_text(encoding="utf-8")) if wanted else {}
    caught = tried = 0
    for mutant in MUTANTS:
        if wanted and not wanted & set(mutant.rules):
            continue
        try:
            failing = try_out(mutant)
        except ValueError as error:
            print(f"{' '.join(mutant.rules)}: {error}", flush=True)
            continue
        said = verdict(mutant, failing)
        tried, caught = tried + 1, caught + ("NOT" not in said)
        print(f"{' '.join(mutant.rules)}: {said}", flush=True)
        for rule in mutant.rules:
            known = recorded.setdefault(rule, [])
            known += [name for name in (failing or {}).get("recorded", []) if name not in known][: _MOST - len(known)]
    print(f"{caught} of {tried} mutants are caught by scenarios that cover their rule")
    if "--write" in sys.argv:
        kept = {rule: names for rule, names in sorted(recorded.items()) if names}
        _RECORDED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
