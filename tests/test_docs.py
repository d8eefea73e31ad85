"""The pages of the documentation: their code runs, their tables are current."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
import sklearn

DOCS = Path(__file__).parents[1] / "docs"
# The pages that are read from top to bottom, their code being one script.
PAGES = ("evaluation", "migrating", "ranking", "scikit-learn")


def blocks(page: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)


@pytest.mark.parametrize("page", PAGES)
def test_code_runs(page, capsys):
    assert blocks(page)
    if page == "scikit-learn":
        pytest.importorskip("sklearn.callback")
        pytest.importorskip("skops")
    namespace: dict[str, object] = {}
    with sklearn.config_context():
        for block in blocks(page):
            exec(compile(block, f"{page}.md", "exec"), namespace)
    assert capsys.readouterr().err == ""


def test_names_are_current():
    lightgbm = pytest.importorskip("lightgbm")
    pytest.importorskip("pandas")
    page = (DOCS / "names.md").read_text(encoding="utf-8")
    if f"({lightgbm.__version__})" not in page:
        pytest.skip("the page is about another version of LightGBM")
    assert runpy.run_path(str(DOCS / "names.py"))["markdown"]() == page


def test_links_lead_somewhere():
    pages = [*DOCS.glob("*.md"), DOCS.parent / "README.md"]
    broken = [
        (page.name, link)
        for page in pages
        for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text("utf-8"))
        if not (page.parent / link).exists()
    ]
    assert broken == []


def test_every_page_is_in_the_index():
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    missing = [page.name for page in DOCS.glob("*.md") if f"({page.name})" not in index]
    assert missing == ["README.md"]
