"""The code of the pages: it runs as a reader would run it, and prints what they show.

``python tools/pages.py docs/models.md`` runs pages in this environment, each in a
process of its own, in an empty folder, without packages that the page does not say to
install. ``--write`` writes what the code has printed, and its plots, into the pages.
Scripts of ``examples/`` run as the notebooks that the site offers, cell by cell.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

_BLOCK = re.compile(
    r"^```python(?P<packages>.*)\n(?P<code>(?:.*\n)*?)^```\n"
    r"(?:\n```text\n(?P<shown>(?:.*\n)*?)^```\n)?"
    r"(?:\n!\[.*\]\((?P<picture>.*)\)\n)?",
    re.M,
)
# What a page or example needs: pages that say nothing need skgoss alone.
_NEEDS = re.compile(
    r"^\*(?:To run this page|Needs): `pip install (?P<page>[^`]+)`"
    r"|``pip install (?P<example>[^`]+)``\.\n\"{3}",
    re.M,
)
_TOLERANCE = re.compile(r"numbers on all pages may differ by up to (\d+)%")
_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")


class Block(NamedTuple):
    """Code on a page, the packages that it alone needs, and what follows it, or ""."""

    packages: list[str]
    code: str
    shown: str
    picture: str


def blocks(page: str) -> list[Block]:
    """The blocks of a page. What follows the word python is packages to install."""
    found = (match.groupdict("") for match in _BLOCK.finditer(page))
    return [Block(**parts | {"packages": parts["packages"].split()}) for parts in found]


def cells(script: str) -> list[Block]:
    """The cells of the notebook that the site makes of a script."""
    return [Block([], code, "", "") for code in re.split(r"(?m)^# %%.*$", script)]


def needs(page: str) -> list[str]:
    """What a page says to install, such as ['skgoss[plots]', 'pandas']."""
    found = _NEEDS.search(page)
    packages = (found["page"] or found["example"]) if found else "skgoss"
    return packages.replace('"', "").split()


@cache
def tolerance(page: Path) -> float:
    """By what fraction numbers may differ from those that a page shows."""
    if page.parent != DOCS:
        return 0.0
    first = (DOCS / "first-model.md").read_text(encoding="utf-8")
    found = _TOLERANCE.search(" ".join(first.split()))
    return int(found[1]) / 100 if found else 0.0


def is_shown(shown: str, printed: str, tolerance: float) -> bool:
    """Whether printed text is the text that is shown, up to spaces and numbers."""
    texts = [_NUMBER.sub("0", " ".join(text.split())) for text in (shown, printed)]
    pairs = zip(_NUMBER.findall(shown), _NUMBER.findall(printed), strict=False)
    return texts[0] == texts[1] and all(is_close(*pair, tolerance) for pair in pairs)


def is_close(shown: str, printed: str, tolerance: float) -> bool:
    """Whether a number is the shown one: within the tolerance, or in the last digit."""
    decimals = len(shown.partition("e")[0].partition(".")[2])
    last_digit = 1.01 * 10.0**-decimals if decimals and tolerance else 0.0
    values = (float(text.replace(",", "")) for text in (shown, printed))
    return math.isclose(*values, rel_tol=tolerance, abs_tol=last_digit)


def comments_with_numbers(code: str) -> list[str]:
    """Comments that tell a number: it would not be compared. Output is."""
    return re.findall(r"(?m)#.*\d.*$", code)


def missing(page: str) -> list[str]:
    """What a page needs and is not installed: packages, and modules of others."""
    code = "".join(block.code for block in blocks(page) if not block.packages)
    modules = {
        node.module if isinstance(node, ast.ImportFrom) else name.name
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    absent = Only(needs(page)).absent
    return [*absent, *(name for name in sorted(modules) if not is_there(name))]


def is_there(module: str) -> bool:
    """Whether a module can be imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


# --- Run ------------------------------------------------------------------------------


def run(block: Block, namespace: dict[str, object]) -> str:
    """What the code of a block prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.code, "the page", "exec"), namespace)
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


def plot(path: Path | None = None) -> bool:
    """Close the plots that code has drawn, and write the last one; whether any was."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or not pyplot.get_fignums():
        return False
    if path is not None:
        # Text stays text, which keeps files small; equal plots make equal files.
        with pyplot.rc_context({"svg.fonttype": "none", "svg.hashsalt": "skgoss"}):
            metadata = {"Date": None} if path.suffix == ".svg" else {}
            pyplot.savefig(path, bbox_inches="tight", metadata=metadata)
    pyplot.close("all")
    return True


@cache
def homes() -> Mapping[str, list[str]]:
    """The packages that a module may be of, by its name; it takes a second."""
    return packages_distributions()


class Only:
    """Hide the packages that are not among some, nor needed by them."""

    def __init__(self, wanted: list[str]) -> None:
        self.homes = homes()
        self.finders = [*sys.meta_path]
        self.installed: set[str] = set()
        self.absent: list[str] = []
        for name in wanted:
            self.add(name)

    def add(self, wanted: str) -> None:
        """Add a package, with extras in brackets, and what it requires."""
        from packaging.requirements import Requirement

        asked = Requirement(wanted)
        name = plain(asked.name)
        try:
            lines = requires(asked.name) or []
        except PackageNotFoundError:
            self.absent.append(name)
            return
        self.installed.add(name)
        for line in lines:
            needed = Requirement(line)
            holds = not needed.marker or any(
                needed.marker.evaluate({"extra": extra})
                for extra in ("", *asked.extras)
            )
            if holds and (plain(needed.name) not in self.installed or needed.extras):
                self.add(f"{needed.name}[{','.join(needed.extras)}]")

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> object:
        """Find a module as Python does, unless it is of another package."""
        homes = self.homes.get(name, [])
        if homes and not self.installed & set(map(plain, homes)):
            return None
        specs = (finder.find_spec(name, path, target) for finder in self.finders)
        return next(filter(None, specs), None)

    def find_distributions(self, *context: object) -> Iterator[object]:
        """What importlib.metadata asks for."""
        for finder in self.finders:
            if hasattr(finder, "find_distributions"):
                yield from finder.find_distributions(*context)


def plain(name: str) -> str:
    """The name of a package as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def run_alone(page: Path) -> Iterator[tuple[str, bool]]:
    """What the blocks of a page print, and whether they plot, in this process."""
    text = page.read_text(encoding="utf-8")
    found = cells(text) if page.suffix == ".py" else blocks(text)
    extra = [name for block in found for name in block.packages]
    sys.meta_path[:] = [Only([*needs(text), *extra])]
    namespace: dict[str, object] = {}
    for block in found:
        picture = page.parent / block.picture if block.picture else None
        yield run(block, namespace), plot(picture if "--write" in sys.argv else None)


def problems(
    found: list[Block], results: list[tuple[str, bool]], tolerance: float
) -> Iterator[str]:
    """How what blocks have printed and drawn differs from what their page shows."""
    for block, (printed, is_plot) in zip(found, results, strict=True):
        if not is_shown(block.shown, printed, tolerance):
            yield f"{block.code}shows\n{block.shown}and prints\n{printed}"
        if is_plot != bool(block.picture):
            yield f"{block.code}has a plot or a picture, and not both"


def with_outputs(text: str, printed: list[str]) -> str:
    """The page with what its blocks have printed."""
    outputs = iter(printed)

    def renewed(match: re.Match[str]) -> str:
        output, whole = next(outputs), match[0]
        code = whole[: match.end("code") - match.start() + len("```\n")]
        shown = f"\n```text\n{output}```\n" if output else ""
        end = match.end("shown") + len("```\n") if match["shown"] is not None else None
        return (
            code + shown + (whole[end - match.start() :] if end else whole[len(code) :])
        )

    return _BLOCK.sub(renewed, text)


def fails(
    path: Path, python: Path | str = sys.executable, *, write: bool = False
) -> bool:
    """Whether the code of a page fails, or prints something else than shown."""
    text = path.read_text(encoding="utf-8")
    option = ["--write"] if write else []
    # Outside of the sources: the package is the installed one.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, "-P", __file__, "--alone", *option, path],
            cwd=folder,
            env={**os.environ, "MPLBACKEND": "agg"},
            capture_output=True,
            text=True,
            check=False,
        )
    found = [done.stderr[-3000:]]
    if not done.returncode:
        results = json.loads(done.stdout.splitlines()[-1])
        if write:
            text = with_outputs(text, [printed for printed, _ in results])
            path.write_text(text, encoding="utf-8")
        # Notebooks do not show what they print.
        shown = blocks(text) if path.suffix == ".md" else []
        found = list(problems(shown, results[: len(shown)], tolerance(path)))
    print(path.name, "failed" if found else "runs", *found, flush=True)
    return bool(found)


def with_code() -> list[Path]:
    """The pages that have code."""
    files = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
    return [path for path in files if blocks(path.read_text(encoding="utf-8"))]


def pages() -> int:
    """Run the code of each page in a fresh environment; compare what it prints."""
    files = with_code()
    texts = [path.read_text(encoding="utf-8") for path in files]
    extra = {n for text in texts for block in blocks(text) for n in block.packages}
    extra |= {name for text in texts for name in needs(text)}
    extra = {name for name in extra if not name.startswith("skgoss")}
    n_blocks = sum(len(blocks(text)) for text in texts)
    print(f"{len(files)} pages, {n_blocks} blocks")
    return run_fresh(files, f"{ROOT}[tests]", *sorted(extra))


def notebooks() -> int:
    """Run each example as a notebook in an empty folder, in a fresh environment."""
    return run_fresh(sorted((ROOT / "examples").glob("*.py")), f"{ROOT}[docs]")


def run_fresh(files: list[Path], *packages: str) -> int:
    """Run pages or notebooks in a fresh environment with some packages."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        install = [python, "-m", "pip", "install", "-q", *packages]
        if subprocess.run(install, check=False).returncode:
            return 1
        failed = [path.name for path in files if fails(path, python)]
    print(f"{len(files)} files, {len(failed)} failed:", *failed)
    return bool(failed)


def main() -> int:
    """Run pages in this environment."""
    line = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    line.add_argument("pages", nargs="*", type=Path, default=with_code())
    line.add_argument("--write", action="store_true", help="write what is printed")
    line.add_argument("--alone", action="store_true", help="run one page, print JSON")
    asked = line.parse_args()
    if asked.alone:
        results = list(run_alone(asked.pages[0]))
        print(json.dumps(results))
        return 0
    return max(fails(path.resolve(), write=asked.write) for path in asked.pages)


if __name__ == "__main__":
    sys.exit(main())
