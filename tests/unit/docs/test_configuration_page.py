"""The configuration page lists the settings that exist, with their defaults, and no other."""

from __future__ import annotations

import json
import re
from pathlib import Path

from turnwise.processes.settings import ServiceSettings

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_the_page_lists_every_setting_with_its_default() -> None:
    listed = dict(re.findall(r"^\| `TURNWISE_(\w+)` \| `?(.*?)`? \|", PAGE.read_text(), flags=re.MULTILINE))

    expected = {}
    for name, field in ServiceSettings.model_fields.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        written = str(default).lower() if default is None or isinstance(default, bool) else str(default)
        if isinstance(default, list):  # as it is set
            written = json.dumps(default)
        expected[name.upper()] = written or "empty"

    assert listed == expected
