"""An extension of Sphinx: what is changed in pages and docstrings for the site."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

from skgoss.parameters.table import DEFAULTS, GROUPS
from skgoss.utils.public import SITE

SEARCH = runpy.run_path(str(Path(__file__).with_name("search.py")))
SEARCHED, UNSEARCHED = SEARCH["SEARCHED"], SEARCH["UNSEARCHED"]

# Files outside of docs/ that are pages of the site.
INSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
    "docs/README.md": "guide.md",
}


def lead_inside(text: str) -> str:
    """Turn links to files into links to pages of the site, by their titles."""
    text = re.sub(r"\[(?:docs/)?[\w-]+\.md\]\(", "[](", text)
    text = re.sub(r"\]\((?:\.\./)?examples\)", "](examples/index.rst)", text)
    text = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](examples/\1.rst)", text)
    for there, here in INSIDE.items():
        link = rf"\]\((?:\.\./)?{re.escape(there)}(#[\w-]+)?\)"
        text = re.sub(link, rf"]({here}\1)", text)
    return text


# Names of other packages, whose first mention on a page leads to their documentation.
# Inventories of their sites would have to be loaded from the network.
ELSEWHERE = {
    "https://scikit-learn.org/stable/modules/generated/sklearn.{0}.html": (
        "calibration.CalibratedClassifierCV datasets.load_svmlight_file"
        " feature_extraction.text.HashingVectorizer impute.SimpleImputer"
        " inspection.permutation_importance metrics.ndcg_score"
        " model_selection.FixedThresholdClassifier model_selection.GridSearchCV"
        " model_selection.GroupKFold model_selection.RandomizedSearchCV"
        " model_selection.StratifiedKFold model_selection.TimeSeriesSplit"
        " model_selection.TunedThresholdClassifierCV model_selection.cross_val_score"
        " multioutput.MultiOutputClassifier multioutput.MultiOutputRegressor"
        " pipeline.Pipeline"
    ),
    "https://pandas.pydata.org/docs/reference/api/pandas.{0}.html": (
        "CategoricalDtype DataFrame NA"
    ),
    "https://optuna-integration.readthedocs.io/en/stable/reference/generated/"
    "optuna_integration.{0}.html": "OptunaSearchCV",
}
LINKS = {
    name.rpartition(".")[2]: address.format(name)
    for address, names in ELSEWHERE.items()
    for name in names.split()
}


def lead_elsewhere(text: str) -> str:
    """Link the first mention of names of other packages, outside of code."""
    parts = re.split(r"(^```.*?^```$|^#[^\n]*$)", text, flags=re.M | re.S)
    missing = dict(LINKS)

    def linked(match: re.Match[str]) -> str:
        address = missing.pop(match[1], None)
        return f"[{match[0]}]({address})" if address else match[0]

    for number in range(0, len(parts), 2):
        parts[number] = re.sub(r"(?<!\[)`([A-Za-z_]+)`(?!\])", linked, parts[number])
    return "".join(parts)


def with_index(text: str, page: str) -> str:
    """Add entries of the index below the headings of what users search for."""
    for query, place in SEARCHED.items():
        name, _, heading = place.partition("#")
        if name == page:
            lines = rf"^#+ {re.escape(heading) if heading else '.*'}$"
            text, n_found = re.subn(
                lines,
                rf"\g<0>\n\n```{{index}} ! {query}\n```",
                text,
                count=1,
                flags=re.M,
            )
            if not n_found:
                raise ValueError(f"{page} has no heading {heading!r}")
    return text


def read_page(app: Any, docname: str, content: list[str]) -> None:
    """Change a page when it is read."""
    content[0] = lead_inside(content[0])
    if str(app.env.doc2path(docname)).endswith(".md"):
        content[0] = with_index(lead_elsewhere(content[0]), docname)


def leave_out(app: Any, doctree: Any) -> None:
    """Leave pages for maintainers out of the sidebar and of the search."""
    if app.env.docname in UNSEARCHED:
        app.env.metadata[app.env.docname] |= {"orphan": "", "no-search": ""}


def read_included(app: Any, path: Any, parent: str, content: list[str]) -> None:
    """Change a file that a page includes when it is read."""
    content[0] = lead_elsewhere(lead_inside(content[0]))


# Docstrings that are inherited from scikit-learn refer to its documentation, and have
# formulas, for which a browser would load a library from the network.
PLAIN = {
    # Addresses of pages of this site lead to them by their titles.
    rf"{re.escape(SITE)}([\w-]+)\.html": r":doc:`/\1`",
    # Full names of scikit-learn lead to its pages.
    r":(?:class|func|meth):`~?sklearn\.([\w.]+)`": (
        r"`\1 <https://scikit-learn.org/stable/modules/generated/sklearn.\1.html>`__"
    ),
    r":ref:`(?:([^`<]+?) )?<?[\w.]+>?`": r"scikit-learn's \1",
    # A word that ends in an underscore would be a link.
    r":term:`(\w+_)`": r"``\1``",
    r":term:`([^`<]+?)(?: <[^`]*)?`": r"\1",
    r"\\frac\{(\w)\}\{(\w)\}": r"\1 / \2",
    r":math:`([^`]+)`": r"``\1``",
}


def write_plainly(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Make plain text of roles that lead out of the site."""
    for number, line in enumerate(lines):
        for role, text in PLAIN.items():
            line = re.sub(role, text, line)
        lines[number] = line


# Classes of fewer parameters show all of them.
MANY = 40


def by_topic(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Put the parameters that matter most first, and fold the others by topic."""
    if what != "class" or ":Parameters:" not in lines:
        return
    start = lines.index(":Parameters:") + 1
    ends = (i for i in range(start, len(lines)) if re.match(r"\S", lines[i]))
    end = next(ends, len(lines))
    items: dict[str, list[str]] = {}
    of = ""
    for line in lines[start:end]:
        found = re.match(r"    \*\*([^ ]+)\*\* :", line)
        of = found[1] if found else of
        items.setdefault(of, []).append(line)
    if len(items) < MANY:
        return

    def taken(topic: str) -> list[str]:
        names = (option.name for option in GROUPS[topic])
        return [line for name in names for line in items.pop(name, [])]

    first = next(iter(GROUPS))
    topics = {topic: taken(topic) for topic in GROUPS}
    rest = [line for part in items.values() for line in part]
    grouped = ["", *topics.pop(first), *rest]
    for topic, part in topics.items():
        for html in (f"<details><summary>{topic}</summary>", *part, "</details>"):
            is_html = html.startswith("<")
            grouped += (
                ["    .. raw:: html", "", f"        {html}", ""] if is_html else [html]
            )
    lines[start:end] = grouped


def link_parameters(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Let the names of parameters lead to the page that describes them."""
    if what == "class" and name.rpartition(".")[2].startswith(("LGBM", "DaskLGBM")):
        for number, line in enumerate(lines):
            lines[number] = re.sub(r"^    \*\*([\w, ]+)\*\*", _linked, line)


def _linked(names: re.Match[str]) -> str:
    """Names of parameters as links."""
    links = []
    for name in names[1].split(", "):
        if name not in DEFAULTS:
            return names[0]
        anchor = name.replace("_", "-")
        links.append(f"`{name} <../parameters.html#{anchor}>`__")
    return f"    {', '.join(links)}"


# Longer signatures show their first arguments; the page lists all of them.
LONGEST = 500


def shorten(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str, returns: str
) -> tuple[str, str] | None:
    """Cut a signature that would fill a page."""
    if not signature or len(signature) < LONGEST or what != "class":
        return None
    first = ", ".join(signature[1:].split(", ")[:6])
    return f"({first}, ...)", returns


def setup(app: Any) -> None:
    """Connect the functions above."""
    app.connect("source-read", read_page)
    app.connect("include-read", read_included)
    app.connect("doctree-read", leave_out)
    app.connect("autodoc-process-docstring", write_plainly)
    app.connect("autodoc-process-docstring", by_topic, priority=900)
    app.connect("autodoc-process-docstring", link_parameters, priority=901)
    app.connect("autodoc-process-signature", shorten)
