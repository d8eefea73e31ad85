"""Write docs/parameters.md from the table of options."""

from pathlib import Path

from skgoss.parameters import settings as parameters

Path(__file__).with_suffix(".md").write_text(parameters.markdown(), encoding="utf-8")
