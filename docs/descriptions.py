"""An extension of Sphinx: descriptions of pages, for search engines and links."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx import addnodes

# Longer descriptions are cut by search engines.
DESCRIPTION = 300


def describe(
    app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give a page a description for search engines and links: its first paragraph."""
    text = first_paragraph(doctree) if doctree else ""
    if not text:
        return
    title = re.sub("<.*?>", "", context["title"])
    tags = {
        'name="description"': text,
        'property="og:title"': title,
        'property="og:description"': text,
        'property="og:type"': "website",
        'property="og:site_name"': app.config.project,
    }
    context["metatags"] += "".join(
        f'<meta {key} content="{escape(value)}">\n' for key, value in tags.items()
    )


def first_paragraph(doctree: Any) -> str:
    """Return the first paragraph of a page's text, or of the docstring on it."""
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section | addnodes.desc_content):
            words = paragraph.astext().split()
            return shortened(" ".join(words))
    return ""


def shortened(text: str) -> str:
    """Return the first sentences of a text that fit in a description."""
    end = text.rfind(". ", 0, DESCRIPTION)
    return text if len(text) <= DESCRIPTION or end < 0 else text[: end + 1]


def setup(app: Any) -> None:
    """Connect the function that Sphinx calls for each page."""
    app.connect("html-page-context", describe)
