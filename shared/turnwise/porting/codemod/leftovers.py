"""Files that are not programs: they are looked at, and left as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnwise.porting.codemod.report import Level, PortingFinding

# The distribution `langroid`, with or without extras and a version, not a longer name such as `langroid-tools`.
_REQUIREMENT = re.compile(r"""(?:^|["'\s\[,-])langroid(?:\[[^\]]*\])?(?=$|[\s"',;=<>~!@])""")
_COMMENT = re.compile(r"(?:^|\s)#.*")


def requirement_findings(text: str) -> Iterator[PortingFinding]:
    """Yield a finding for each line of a list of requirements that asks for the reference implementation."""
    for number, line in enumerate(text.splitlines(), 1):
        if _REQUIREMENT.search(_COMMENT.sub("", line)):
            yield PortingFinding(line=number, level=Level.TODO, said="requires langroid: require turnwise instead")


def notebook_findings(text: str) -> Iterator[PortingFinding]:
    """Yield a finding for a notebook that names the reference implementation."""
    if re.search(r"\blangroid\b", text):
        said = "a notebook is left as it is: export it (jupyter nbconvert --to script), and port the program"
        yield PortingFinding(line=0, level=Level.TODO, said=said)
