"""An extension of Sphinx: what is changed in pages and docstrings for the site."""

from __future__ import annotations

import re
from typing import Any

# Files beside docs/ that are pages of the site.
INSIDE = {"../CHANGELOG.md": "changelog.md", "../benchmarks/README.md": "benchmarks.md"}


def lead_inside(text: str) -> str:
    """Turn links to files beside docs/ into links to pages of the site."""
    text = re.sub(r"\]\((?:\.\./)?examples\)", "](examples/index.rst)", text)
    text = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](examples/\1.rst)", text)
    for there, here in INSIDE.items():
        text = text.replace(f"]({there})", f"]({here})")
    return text


def read_page(app: Any, docname: str, content: list[str]) -> None:
    """Change a page when it is read."""
    content[0] = lead_inside(content[0])


def read_included(app: Any, path: Any, parent: str, content: list[str]) -> None:
    """Change a file that a page includes when it is read."""
    content[0] = lead_inside(content[0])


def name_guide_of_scikit_learn(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Turn references into scikit-learn's documentation into words."""
    for number, line in enumerate(lines):
        line = re.sub(r":ref:`(?:([^`<]+?) )?<?\w+>?`", r"scikit-learn's \1", line)
        lines[number] = re.sub(r":term:`([^`<]+?)(?: <[^`]*)?`", r"\1", line)


def setup(app: Any) -> None:
    """Connect the functions above."""
    app.connect("source-read", read_page)
    app.connect("include-read", read_included)
    app.connect("autodoc-process-docstring", name_guide_of_scikit_learn)
