"""An extension of Sphinx: entries of the index lead to their sections."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


class IndexOfSections(SphinxTransform):
    """Let entries of the index lead to their sections, whose words results show."""

    default_priority = 840  # before Sphinx collects the entries

    def apply(self, **kwargs: Any) -> None:
        """Change the entries of a page."""
        for index in self.document.findall(addnodes.index):
            section = index.parent
            if not isinstance(section, nodes.section):
                continue
            # The whole page has no place in it.
            is_page = isinstance(section.parent, nodes.document)
            place = "" if is_page else section["ids"][0]
            index["entries"] = [
                (kind, words, place, main, key)
                for kind, words, _, main, key in index["entries"]
            ]


def setup(app: Any) -> None:
    """Add the change of pages."""
    app.add_transform(IndexOfSections)
