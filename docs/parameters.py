"""Write docs/parameters.md from the table of options."""

from pathlib import Path

from skgoss import parameters

Path(__file__).with_suffix(".md").write_text(parameters.markdown(), encoding="utf-8")
