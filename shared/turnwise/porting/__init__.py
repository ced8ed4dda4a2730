"""Programs that were written for Langroid: what stands for its names here.

`turnwise.langroid` is the package that such programs import; the table behind it is `turnwise.porting.table`.
"""

from __future__ import annotations

from turnwise.porting.notice import NoEffectWarning

__all__ = ["NoEffectWarning"]
