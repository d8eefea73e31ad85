"""Build the documentation site: `python -m sphinx -W docs docs/_build`.

The pages are the Markdown files of this folder. What only the site has is made here:
the reference from the docstrings, and a gallery from the scripts in examples/. Nothing
is loaded from the network, neither while building nor by a reader's browser.
"""

from __future__ import annotations

import os
import runpy
import sys
from importlib import metadata
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent

# Document the package that is installed: `python -m` puts the project's root on the
# path, and the source folder in it has no compiled modules.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
sys.path.insert(0, str(DOCS))
os.environ.setdefault("MPLBACKEND", "agg")

project = "skgoss"
author = "The skgoss developers"
copyright = author
version = release = metadata.version("skgoss")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "pages",
    "descriptions",
    "sections",
]
# README.md is the index in a repository browser; guide.md includes it.
exclude_patterns = ["_build", "README.md", "**sg_execution_times.rst"]
templates_path = ["_templates"]

# Pages
myst_heading_anchors = 4

# Reference
autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_default_options = {"exclude-members": "set_callbacks"}
numpydoc_show_class_members = False
# Names in backticks lead to their pages, others are code.
default_role = "py:obj"
# Quotes stay as they are typed in Python.
smartquotes = False

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "gallery.Order",
    "reset_modules": ("matplotlib", "gallery.reset"),
    "default_thumb_file": str(DOCS / "figures" / "thumbnail.svg"),
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e6,
    "plot_gallery": "True",
}

# Pages as HTML
html_theme = "pydata_sphinx_theme"
html_title = f"skgoss {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(DOCS / "_static" / "scorer.js")
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_context = {
    "default_mode": "auto",
    # For links that edit a page.
    "github_user": "skgoss",
    "github_repo": "skgoss",
    "github_version": "main",
    "doc_path": "docs",
}
# Outputs have no button; prompts of examples are not copied.
copybutton_selector = (
    "div:not(.highlight-text):not(.sphx-glr-script-out) > div.highlight > pre"
)
copybutton_exclude = ".linenos, .gp, .go"
html_theme_options = {
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "alt_text": "",
        "text": "skgoss",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "github_url": "https://github.com/skgoss/skgoss",
    "use_edit_page_button": True,
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    # Wide tables have the room of the table of contents as well.
    "secondary_sidebar_items": {"**": ["page-toc", "edit-this-page"], "names": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages of their own have no neighbors to list at the left.
ALONE = [
    "install",
    "how-it-works",
    "performance",
    "migrating",
    "changelog",
]
UNSEARCHED = runpy.run_path(str(DOCS / "search.py"))["UNSEARCHED"]
html_sidebars = {name: [] for name in [*ALONE, *UNSEARCHED, "index"]}
