"""The pages of the documentation: their code runs, their tables are current."""

from __future__ import annotations

import doctest
import importlib
import itertools
import re
import runpy
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import pytest
import sklearn

import skgoss
from helpers.grids import nightly_if
from skgoss.objectives.objectives import OBJECTIVES
from skgoss.parameters.table import DEFAULTS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


PAGES = SimpleNamespace(**runpy.run_path(str(ROOT / "tools" / "pages.py")))
# The pages that are read from top to bottom, their code being one script.
FILES = {path.stem: path for path in PAGES.with_code()}
TEXTS = {name: path.read_text(encoding="utf-8") for name, path in FILES.items()}
# What this page does holds for a whole process.
ALONE = "tools"
# `tools/check.py pages` runs them by day, each in a process of its own.
LONG = {"README", "accuracy", "dask", "distributions", "evaluation", "production"}
LONG |= {"ranking", "scikit-learn", "tuning"}
SCRIPTS = {
    "test_code_of_a_process": lambda: (ROOT / "tools" / "pages.py", str(FILES[ALONE]))
}


def test_pages_have_code():
    assert {"README", "first-model", "time-series", ALONE} < set(FILES)
    assert len(FILES) > 20


# shap calls what matplotlib will deprecate.
@pytest.mark.filterwarnings("ignore:The set_:PendingDeprecationWarning")
@pytest.mark.parametrize("page", nightly_if(sorted(FILES.keys() - {ALONE}), LONG))
def test_code_prints_what_pages_show(page, tmp_path, monkeypatch, capsys):
    for name in PAGES.missing(TEXTS[page]):
        pytest.skip(f"{name} is not installed")
    importlib.import_module("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    blocks = [block for block in PAGES.blocks(TEXTS[page]) if not block.packages]
    namespace: dict[str, object] = {}
    PAGES.plot()  # closes what other tests have drawn
    # Other processes would import all packages: `tools/check.py pages` starts them.
    with sklearn.config_context(), joblib.parallel_config("threading"):
        results = [(PAGES.run(block, namespace), PAGES.plot()) for block in blocks]
    assert list(PAGES.problems(blocks, results, PAGES.tolerance(FILES[page]))) == []
    assert capsys.readouterr().err == ""


def test_code_of_a_process(done):
    for name in PAGES.missing(TEXTS[ALONE]):
        pytest.skip(f"{name} is not installed")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("page", FILES)
def test_pages_say_what_to_install(page):
    packages = [re.split(r"\W", name)[0] for name in PAGES.needs(TEXTS[page])]
    assert packages[0] == "skgoss"
    assert "`pip install skgoss`.*" not in TEXTS[page]  # goes without saying


def test_packages_that_pages_need_are_read():
    assert PAGES.needs("# A page\n") == ["skgoss"]
    assert PAGES.needs('*Needs: `pip install "skgoss[a]" b`.*') == ["skgoss[a]", "b"]
    assert PAGES.needs('"""``pip install skgoss b``.\n"""') == ["skgoss", "b"]
    assert len([text for text in TEXTS.values() if PAGES.needs(text)[1:]]) > 10


def test_numbers_of_pages_may_differ():
    assert PAGES.tolerance(FILES["first-model"]) == 0.02
    assert PAGES.tolerance(FILES["README"]) == 0.0


@pytest.mark.parametrize("page", FILES)
def test_pages_print_instead_of_asserting(page):
    code = "".join(block.code for block in PAGES.blocks(TEXTS[page]))
    assert re.findall(r"\bassert\w*", code) == []
    assert PAGES.comments_with_numbers(code) == []


def test_outputs_that_differ_are_found():
    is_shown = PAGES.is_shown
    assert is_shown("loss 0.97\n", "loss  0.966", 0.01)
    assert not is_shown("loss 0.97", "loss 0.93", 0.01)
    assert not is_shown("58", "59.4", 0.01)
    assert not is_shown("59 rounds", "60 rounds", 0.0)
    assert is_shown("1,000 rows, 1e-05", "1001 rows, 1.001e-05", 0.01)
    assert not is_shown("True", "False", 0.5)
    assert not is_shown("[1, 2]", "[1, 2, 3]", 0.5)
    page = "```python\nprint(1)\n```\n\n![a](b.svg)\n\n```python lime\nx = 2\n```\n"
    page = PAGES.with_outputs(page, ["1\n", ""])
    assert page.startswith(
        "```python\nprint(1)\n```\n\n```text\n1\n```\n\n![a](b.svg)\n\n"
    )
    blocks = PAGES.blocks(page)
    assert [block.packages for block in blocks] == [[], ["lime"]]
    assert (blocks[0].shown, blocks[0].picture) == ("1\n", "b.svg")
    assert PAGES.with_outputs(page, ["1\n", ""]) == page
    assert list(PAGES.problems(blocks, [("1\n", True), ("", False)], 0.0)) == []
    assert len(list(PAGES.problems(blocks, [("2\n", False), ("", True)], 0.0))) == 3


def test_packages_that_a_page_does_not_name_are_hidden():
    hides = PAGES.Only(["skgoss"])
    assert {"numpy", "scikit-learn", "narwhals"} < hides.installed
    assert not {"pandas", "matplotlib", "pytest"} & hides.installed
    assert hides.find_spec("numpy").name == "numpy"
    assert hides.find_spec("pytest") is None


# The public names, as docs/api.rst lists them.
REFERENCE = re.findall(
    r"^   ([\w.]+)$", (DOCS / "api.rst").read_text(encoding="utf-8"), re.M
)
# What the examples of a name, or of all names of a module, need.
EXAMPLES_NEED = {
    "create_tree_digraph": ["graphviz", "pandas"],
    "dask": ["dask.array", "distributed"],
    "draw_tree": ["pandas"],
    "onnx": ["skl2onnx"],
    "plot_importance": ["matplotlib", "pandas"],
    "plot_metric": ["matplotlib", "pandas"],
    "plot_split_value_histogram": ["matplotlib", "pandas"],
    "plot_tree": ["igraph", "matplotlib", "pandas"],
    "to_onnx": ["onnx"],
}


def public(name: str) -> Any:
    """What users import by a name of docs/api.rst."""
    module, _, attribute = f"skgoss.{name}".rpartition(".")
    return getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("name", REFERENCE)
def test_examples_of_docstrings_run(name, capsys, logger_as_it_was):
    needed = EXAMPLES_NEED.get(name.partition(".")[0], [])
    for package in needed:
        pytest.importorskip(package)
    if "matplotlib" in needed:
        importlib.import_module("matplotlib").use("Agg")
    # Without a module, as the classes are not defined where users import them.
    examples = doctest.DocTestFinder().find(public(name), name, module=False, globs={})
    runner = doctest.DocTestRunner()
    results = [runner.run(example) for example in examples]
    assert sum(found.attempted for found in results) > 1
    assert sum(found.failed for found in results) == 0, capsys.readouterr().out
    if "matplotlib" in needed:
        importlib.import_module("matplotlib.pyplot").close("all")


def test_every_public_name_is_in_the_reference():
    assert sorted(n for n in REFERENCE if "." not in n) == sorted(skgoss.__all__)
    assert [n for n in REFERENCE if REFERENCE.count(n) > 1] == []


def toctrees(page: str) -> list[str]:
    """The pages below a page of the site, in their order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    trees = re.findall(r"^```{toctree}\n(.*?)^```$", text, re.M | re.S)
    lines = [line for tree in trees for line in tree.splitlines()]
    below = [line for line in lines if line and not line.startswith(":")]
    return [re.sub(r".*<(.*)>", r"\1", line) for line in below]


SEARCH = runpy.run_path(str(DOCS / "search.py"))


def test_every_page_is_on_the_site_once():
    pages = {path.stem for path in DOCS.glob("*.md")} - {"README", "index"}
    shown = [*toctrees("index.md"), *toctrees("guide.md"), *SEARCH["UNSEARCHED"]]
    assert sorted(shown) == sorted({*pages, "api", "examples/index"})


def test_the_list_of_pages_has_the_order_of_the_sidebar():
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    inside = runpy.run_path(str(DOCS / "pages.py"))["INSIDE"]
    listed = re.findall(r"\]\((?:\.\./)?([\w./-]+\.md)\)", text.partition("## All")[2])
    names = [inside.get(page, page).removesuffix(".md") for page in listed]
    guide = toctrees("guide.md")
    assert [name for name in names if name in guide] == guide


def main_words(title: str) -> set[str]:
    """The words of a title before its colon, in the singular."""
    words = re.findall(r"\w+", title.partition(":")[0].lower())
    left_out = {"a", "and", "from", "in", "of", "on", "or", "the", "to", "with"}
    return {word.rstrip("s") for word in words} - left_out


def test_no_two_titles_are_nearly_the_same():
    titles = {
        path.name: path.read_text(encoding="utf-8").partition("\n")[0].strip('#" ')
        for path in [*DOCS.glob("*.md"), *(ROOT / "examples").glob("*.py")]
        if path.stem not in {*SEARCH["UNSEARCHED"], "guide", "index"}
    }
    words = {name: main_words(title) for name, title in titles.items()}
    alike = []
    for one, other in itertools.combinations(words, 2):
        n_common = len(words[one] & words[other])
        is_within = 1 < n_common == min(len(words[one]), len(words[other]))
        if is_within or n_common > 0.6 * len(words[one] | words[other]):
            alike.append((one, other))
    assert alike == []


def test_every_objective_is_on_its_page():
    page = (DOCS / "objectives.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) ?\|$", page, re.M)
    listed = {name: re.findall(r"`(\w+)`", others) for name, others in rows}
    assert listed == {
        name: list(objective.aliases) for name, objective in OBJECTIVES.items()
    }


def test_tables_of_objectives_and_metrics_are_those_of_the_package():
    for path, page in runpy.run_path(str(DOCS / "objectives.py"))["pages"]().items():
        assert path.read_text(encoding="utf-8") == page


def test_links_out_of_the_pages_stay_on_the_site():
    lead_inside = runpy.run_path(str(DOCS / "pages.py"))["lead_inside"]
    files = [*DOCS.glob("*.md"), ROOT / "README.md"]
    led = [lead_inside(path.read_text(encoding="utf-8")) for path in files]
    assert [link for text in led for link in re.findall(r"\]\(\.\.[^)]*\)", text)] == []
    assert "](examples/ranking.rst)" in lead_inside("[x](../examples/ranking.py)")


def test_names_of_other_packages_lead_to_their_documentation():
    pages = runpy.run_path(str(DOCS / "pages.py"))
    text = "# `NA`\n`NA`, [`NA`](x), `Pipeline(...)`, `NA`\n```text\n`NA`\n```\n`NA`"
    address = "https://pandas.pydata.org/docs/reference/api/pandas.NA.html"
    linked = text.replace("\n`NA`, [", f"\n[`NA`]({address}), [")
    assert pages["lead_elsewhere"](text) == linked
    for address, names in pages["ELSEWHERE"].items():
        for name in names.split() if "scikit-learn" in address else ():
            module, _, attribute = name.rpartition(".")
            assert hasattr(importlib.import_module(f"sklearn.{module}"), attribute)


def test_parameters_of_estimators_are_grouped():
    pages = runpy.run_path(str(DOCS / "pages.py"))
    names = [f"{i}" for i in range(50)] + ["max_bin", "n_estimators"]
    listed = [line for n in names for line in (f"    **{n}** : int", "        x", "")]
    lines = ["A.", "", ":Parameters:", "", *listed, ":Attributes:", ""]
    pages["by_topic"](None, "class", "", None, None, lines)
    found = re.findall(r"\*\*(\w+)\*\*|<summary>(.*)</summary>", "\n".join(lines))
    order = ["".join(names) for names in found]
    assert order[0] == "n_estimators"
    assert order[order.index("max_bin") - 1].startswith("Bins")
    assert sorted(name for name, _ in found if name) == sorted(names)
    assert lines.count("        x") == len(names)
    assert lines[-2:] == [":Attributes:", ""]


def test_parameters_lead_to_their_descriptions():
    pages = runpy.run_path(str(DOCS / "pages.py"))
    lines = ["    **max_bin, eta** : see", "    **max_bin, num_leaves** : see", "x"]
    pages["link_parameters"](None, "class", "skgoss.LGBMRanker", None, None, lines)
    links = [
        f"`{name} <../parameters.html#{name.replace('_', '-')}>`__"
        for name in ("max_bin", "num_leaves")
    ]
    expected = ["    **max_bin, eta** : see", f"    {', '.join(links)} : see", "x"]
    assert lines == expected
    page = (DOCS / "parameters.md").read_text(encoding="utf-8")
    names = re.findall(r"^### `(\w+)`$", page, re.M)
    assert names == list(DEFAULTS)


def test_every_example_is_in_the_order_of_the_gallery():
    order = runpy.run_path(str(DOCS / "gallery.py"))["ORDER"]
    assert sorted(order) == sorted(p.name for p in (ROOT / "examples").glob("*.py"))


@pytest.mark.nightly
def test_figures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    figures = runpy.run_path(str(DOCS / "figures.py"))
    figures["main"](tmp_path)
    drawn = sorted(path.name for path in tmp_path.iterdir())
    assert drawn == sorted(figures["FIGURES"])


def test_figures_are_shown():
    pytest.importorskip("matplotlib").use("Agg")
    figures = runpy.run_path(str(DOCS / "figures.py"))["FIGURES"]
    assert figures["thumbnail.svg"]().axes
    importlib.import_module("matplotlib.pyplot").close("all")
    pages = [
        (DOCS / name).read_text(encoding="utf-8")
        for name in (
            "how-it-works.md",
            "accuracy.md",
            "distributions.md",
            "survival.md",
        )
    ]
    used = [name for page in pages for name in re.findall(r"\(figures/(.*?)\)", page)]
    assert {"thumbnail.svg", *used} == set(figures)


def test_names_are_current(lightgbm):
    pytest.importorskip("pandas")
    page = (DOCS / "names.md").read_text(encoding="utf-8")
    if f"({lightgbm.__version__})" not in page:
        pytest.skip("the page is about another version of LightGBM")
    assert runpy.run_path(str(DOCS / "names.py"))["markdown"]() == page


def test_options_of_other_libraries_are_current():
    page = (DOCS / "other-libraries.md").read_text(encoding="utf-8")
    written = runpy.run_path(str(DOCS / "other_libraries.py"))
    assert written["markdown"]() == page
    assert {"`num_leaves`", "`colsample_bynode`"} < set(page.replace("|", "").split())


def test_what_users_search_has_a_heading():
    pages = runpy.run_path(str(DOCS / "pages.py"))
    for page in {place.partition("#")[0] for place in pages["SEARCHED"].values()}:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        indexed = pages["with_index"](text, page)
        queries = [q for q, p in pages["SEARCHED"].items() if p.split("#")[0] == page]
        assert sorted(re.findall(r"^```{index} ! (.*)$", indexed, re.M)) == sorted(
            queries
        )
        assert re.sub(r"```{index} ! .*\n```\n\n", "", indexed) == text
    pages["SEARCHED"]["x"] = "cv#x"
    with pytest.raises(ValueError, match="cv has no heading 'x'"):
        pages["with_index"]("# Cross-validation\n", "cv")


STYLE = (DOCS / "style.md").read_text(encoding="utf-8")
REFUSED = re.findall(r"^\| ([^|]+?) \| ", STYLE.partition("|---|---|")[2], re.M)
# "is no number", but not "there is no number" and "is no longer".
IS_NO = (
    r"(?<!there )\b(?:is|are) no "
    r"(?!(?:better|farther|faster|higher|larger|less|longer|lower|more|smaller|worse)\b)"
)
PHRASES = re.compile(
    rf"(?<!\w)(?:{'|'.join(map(re.escape, REFUSED))})(?!\w)"
    rf"|\d %(?= [a-z]{{2,}}(?![\w(.]))|{IS_NO}",
    re.IGNORECASE,
)
# Words in backticks with these endings, or in `_engine/`, are files of the project.
SUFFIXES = (".py", ".pyx", ".pxd", ".h", ".md")
# The folders and pages whose language is checked, and the files that are left out: the
# first sentences of modules belong to skgoss/, and two files list refused phrases.
WRITTEN = ("skgoss", "benchmarks", "docs", "examples", "tests", "tools")
WRITTEN += ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
LEFT_OUT = ("modules.md", "style.md", "test_docs.py")


def files_of(place: str) -> list[Path]:
    """The files of a folder whose language is checked, or the page of this name."""
    paths = sorted(path for path in (ROOT / place).rglob("*") if path.is_file())
    return [path for path in paths or [ROOT / place] if path.suffix in SUFFIXES]


def in_one_line(text: str) -> str:
    """The words of a text and of its names, without marks of comments."""
    text = re.sub(r"^\s*(?:#+|//|\*) ", "", text, flags=re.M)
    return " ".join(text.replace("_", " ").split())


@pytest.mark.parametrize("place", WRITTEN)
def test_phrases_that_the_style_refuses(place):
    files = [path for path in files_of(place) if path.name not in LEFT_OUT]
    assert files
    found = [
        (path.relative_to(ROOT).as_posix(), match[0])
        for path in files
        for match in PHRASES.finditer(in_one_line(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_the_style_refuses_phrases():
    assert len(REFUSED) > 50
    text = """It is the same
    # Bit for
    # bit, also if 5 % of the rows are no numbers, so many
      * times without an error: `test_same_bits` without an error."""
    assert PHRASES.findall(in_one_line(text)) == [
        "Bit for bit",
        "also if",
        "5 %",
        "are no ",
        "so many",
        "same bits",
        "without an error.",
    ]
    allowed = """5 % 3 == 2, 5 % len(x), `it % n`, 'there is no row', so manyfold,
    an error without an error code, it is no longer, and they are no better"""
    assert PHRASES.findall(in_one_line(allowed)) == []


# What comes before the first dot of a name: the modules of skgoss by their last part.
MODULES: dict[str, list[str]] = {}
for _path in sorted((ROOT / "skgoss").rglob("*.py")):
    if _path.stem not in ("__init__", "sklearn") and "_engine" not in _path.parts:
        _module = ".".join(_path.relative_to(ROOT).with_suffix("").parts)
        MODULES.setdefault(_path.stem, []).append(_module)


def ends_of_paths() -> set[str]:
    """All that files and folders may be called: with some or no folders before them."""
    found = [
        p
        for f in ("skgoss", "docs", "tests", "examples", "benchmarks", "tools")
        for p in (ROOT / f).rglob("*")
    ]
    found += [path.with_suffix("") for path in found if path.suffix in (".pyx", ".pxd")]
    parts = [path.relative_to(ROOT).parts for path in found]
    return {"/".join(part[i:]) for part in parts for i in range(len(part))}


PATHS = ends_of_paths()


def is_file(word: str) -> bool:
    return bool(re.fullmatch(r"\w[\w./-]+", word)) and (
        word.endswith(SUFFIXES) or word.startswith("_engine/")
    )


def is_name(word: str) -> bool:
    is_path = is_file(word) or ".csv" in word  # train.csv is no attribute of `train`
    return "." in word and not is_path and word.split(".", maxsplit=1)[0] in MODULES


def name_is_there(word: str) -> bool:
    """Whether a module has a name: `module.name` or `module.Class.attribute`."""
    module, *names = word.split(".")
    return any(has_name(module, names) for module in MODULES[module])


def has_name(module: str, names: list[str]) -> bool:
    found = importlib.import_module(module)
    for name in names:
        # Fields of a data class without defaults are annotations alone.
        if not hasattr(found, name):
            return name in getattr(found, "__annotations__", {})
        found = getattr(found, name)
    return True


def sources_of_classes() -> dict[str, str]:
    """The sources of the files that define a class or struct, by its name."""
    found: dict[str, str] = {}
    for path in (ROOT / "skgoss").rglob("*"):
        if path.suffix in (".py", ".pyx", ".pxd", ".h"):
            text = path.read_text(encoding="utf-8")
            for names in re.findall(r"\b(?:class|struct) (\w+)|^} (\w+);", text, re.M):
                found["".join(names)] = found.get("".join(names), "") + text
    return found


SOURCES = sources_of_classes()


def is_missing_member(word: str) -> bool:
    """Whether a word such as `Class.member` names nothing in the files of the class.

    Pages also name what public classes do not have.
    """
    owner, _, member = word.partition(".")
    if owner not in SOURCES or hasattr(skgoss, owner) or not member.isidentifier():
        return False
    return not re.search(rf"\b{member}\b", SOURCES[owner])


def unknown(text: str) -> list[str]:
    """The words in backticks that name files or parts of modules that do not exist."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    # Of a call the name, without its arguments.
    words = [word.partition("(")[0] for word in re.findall(r"`([^`]+)`", text)]
    return [
        word
        for word in words
        if (is_file(word) and word.strip("/") not in PATHS)
        or (is_name(word) and not name_is_there(word))
        or is_missing_member(word)
    ]


@pytest.mark.parametrize(
    "page",
    [*DOCS.glob("*.md"), *ROOT.glob("*.md"), ROOT / "benchmarks" / "README.md"],
    ids=str,
)
def test_files_and_names_exist(page):
    assert unknown(page.read_text(encoding="utf-8")) == []


def test_unknown_files_and_names_are_found():
    text = """`training/boosting.py`, `split.h`, `_engine/training/split.h`,
    `_engine/columns/`, `_engine/training/tree`, `loop.train(state)`,
    `columns.Columns`, `loop.Trained.ensemble`, and those that do not exist:
    `boosters.py`, `training/dataset_builder.py`, `_engine/training/splits`,
    `loop.learn(state)`, `loop.Trained.trees`, `Boosting.burst`, not `Boosting.add`"""
    assert unknown(text) == [
        "boosters.py",
        "training/dataset_builder.py",
        "_engine/training/splits",
        "loop.learn",
        "loop.Trained.trees",
        "Boosting.burst",
    ]


ALGORITHM = (DOCS / "algorithm.md").read_text(encoding="utf-8")


def defines(path: str, name: str) -> bool:
    """Whether a file defines a name such as `function` or `Class.method`."""
    file = ROOT / path
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    for part in name.split("."):
        defined = rf"^ *(?:cp?def|def|class)\b.*?\b{part}\b(?=[(:])|^{part} = "
        if file.suffix == ".h":
            defined = rf"^(?:static .*|#define |SIMD_KERNEL\()\b{part}\b(?=[(,])"
        found = re.search(defined, text, re.M)
        if not found:
            return False
        text = text[found.end() :]
    return True


def test_the_algorithm_shows_code_of_the_reference_implementation():
    assert runpy.run_path(str(DOCS / "algorithm.py"))["markdown"]() == ALGORITHM
    assert ALGORITHM.count("```py\n") > 8


def test_files_and_functions_of_the_algorithm_exist():
    rows = re.findall(
        r"^\| (fast|plain|test) \| `([\w.]+)` \| `([\w/.]+)` \|$", ALGORITHM, re.M
    )
    assert len(rows) == ALGORITHM.count(" | `skgoss/") + ALGORITHM.count(" | `tests/")
    assert [row for row in rows if not defines(row[2], row[1])] == []
    # Each step names what does it fast, and what does it plainly or tests it.
    steps = re.split(r"^\| \| function \| file \|$", ALGORITHM, flags=re.M)[1:]
    assert len(steps) > 10
    assert all("| fast |" in s and re.search(r"\| (plain|test) ", s) for s in steps)


def test_functions_that_are_not_defined_are_found():
    engine = "skgoss/_engine/training"
    assert defines(f"{engine}/gains.h", "leaf_step")
    assert not defines(f"{engine}/leaf_values.pyx", "leaf_step")  # it is called there
    assert defines(f"{engine}/leaf_values.pyx", "fill_leaves")
    assert not defines(f"{engine}/tree.pyx", "fill_leaves")
    assert defines("skgoss/training/boosting.py", "Boosting.current_iteration")
    assert not defines("skgoss/training/boosting.py", "Boosting.grow_leaves")
    assert not defines("skgoss/training/boosted.py", "Boosting")


def test_every_module_is_listed():
    generator = runpy.run_path(str(DOCS / "modules.py"))
    page = (DOCS / "modules.md").read_text(encoding="utf-8")
    assert generator["markdown"]() == page
    folders = {path.parent for path in (ROOT / "skgoss").rglob("__init__.py")}
    headings = set(re.findall(r"^## `([\w/]+)/`$", page, re.MULTILINE))
    assert headings == {path.relative_to(ROOT).as_posix() for path in folders}


def test_the_picture_shows_the_layers():
    with open(ROOT / "pyproject.toml", "rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = [
        [name.removeprefix("skgoss.") for name in layer.split(" | ")]
        for layer in contracts[0]["layers"]
    ]
    page = (DOCS / "design.md").read_text(encoding="utf-8")
    picture = page[page.index("```text\n") + 8 :].partition("```")[0]
    # Descriptions follow after three spaces or more.
    lines = [
        line.split()[: len(layer)]
        for line, layer in zip(picture.splitlines(), layers, strict=True)
    ]
    assert lines == layers


def test_links_lead_somewhere():
    pages = [*DOCS.glob("*.md"), ROOT / "README.md"]
    broken = [
        (page.name, link)
        for page in pages
        for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text("utf-8"))
        if not (page.parent / link).exists()
    ]
    assert broken == []


def anchors(page: Path) -> set[str]:
    """What links to the headings of a page end with, as GitHub and the site make it."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    headings = (heading.lower() for heading in re.findall(r"^#+ (.+)$", text, re.M))
    return {re.sub(r"[^\w -]", "", h).replace(" ", "-") for h in headings}


def test_links_lead_to_headings():
    pages = [*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    link_to_heading = re.compile(r"\]\(([\w./-]*\.md|)#([^)]+)\)")
    links = [
        (page, *link)
        for page in pages
        for link in link_to_heading.findall(page.read_text("utf-8"))
    ]
    assert len(links) > 100
    broken = [
        (page.name, path, anchor)
        for page, path, anchor in links
        if anchor not in anchors(page.parent / path if path else page)
    ]
    assert broken == []


def test_every_page_is_in_the_index():
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    missing = {page.name for page in DOCS.glob("*.md") if f"({page.name})" not in index}
    # The index itself, and pages of the site that include a file.
    including = {"benchmarks.md", "changelog.md", "contributing.md", "security.md"}
    assert missing == {"README.md", "guide.md", "index.md"} | including
