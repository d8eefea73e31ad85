"""Checks in addition to the tests, one command each: ``python tools/check.py types``.

``python -m pip install ".[tests,checks]"`` installs what most of them need. The others
have extras of their own: see CONTRIBUTING.md.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from instrumented import ROOT, TESTS, coverage, fuzz, run, sanitizers, threads
from machines import machines
from pages import notebooks, pages
from wheels import dependencies, targets, twice, wheel

METHODS = (Callable, property, classmethod, staticmethod)
# numpydoc's checks for examples and links: methods have those of their class.
OF_CLASSES = ("EX01", "SA01")


def python(*arguments: str | Path, **variables: str) -> int:
    """Run a Python program with the installed package, not with the source folder."""
    outside = {**os.environ, "PYTHONSAFEPATH": "1", **variables}
    return run(sys.executable, *arguments, env=outside)


def types() -> int:
    """Check the types of the package, and of calls as users write them."""
    return max(python("-m", "mypy"), installed("checks", "pyright"))


def lint() -> int:
    """Look at style, spelling and imports, and for files that nobody expects."""
    tools = (
        ("ruff", "check", "."),
        ("ruff", "format", "--check", "."),
        ("cython-lint", "skgoss"),
        ("lint-imports", "--no-cache"),
        ("codespell",),
    )
    return max(unexpected_files(), *(installed("lint", *tool) for tool in tools))


# The files that a checkout may have. Others were added by accident.
EXPECTED_FILES = re.compile(
    r"""
    (skgoss|tests|docs|examples|benchmarks|tools)/ .+ \.py
    | skgoss/_engine/ .+ \.(pyx|pxd|pyi|h|c) | skgoss/_engine/meson\.build
    | skgoss/__init__\.pxd | skgoss/py\.typed
    | tests/(files|fuzz/corpus)/ .+ | tests/helpers/golden\.json
    | (docs|examples)/ [\w-]+ \.(md|rst) | docs/figures/\w+\.(svg|png)
    | docs/_static/\w+\.(css|js|svg) | docs/_templates/ .+ \.rst
    | tools/(threads\.supp|recipe/recipe\.yaml)
    | benchmarks/((tabarena/)?README\.md|many_cores\.c)
    | \.ci/run | \.github/ .+ \.yml | \.gitignore | conftest\.py
    | [A-Z_]+\.md | LICENSE | CITATION\.cff | pyproject\.toml | meson\.(build|options)
    """,
    re.VERBOSE,
)


def unexpected_files() -> int:
    """Look for tracked files that no pattern names; none outside of a checkout."""
    if not (ROOT / ".git").exists():
        return 0
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True)
    strays = [f for f in listed.splitlines() if not EXPECTED_FILES.fullmatch(f)]
    for file in strays:
        print(f"{file}: no pattern of tools/check.py expects this file")
    return bool(strays)


def workflows() -> int:
    """Check the workflows: what GitHub would refuse, and what is not secure."""
    return max(
        installed("workflows", "actionlint"),
        installed("workflows", "zizmor", "--offline", ".github"),
    )


def installed(extra: str, name: str, *arguments: str) -> int:
    """Run a program that an extra installs next to Python, or that is on the path."""
    path = shutil.which(name, path=Path(sys.executable).parent) or shutil.which(name)
    if path is None:
        print(
            f"{name} is neither installed nor on the path: python -m pip install"
            f' ".[{extra}]"'
        )
        return 1
    return run(path, *arguments)


def site() -> int:
    """Build the website, and search it; a warning is an error.

    It needs the extra ``docs``, and node, which searches.
    """
    built = python("-m", "sphinx", "-q", "-W", "docs", "docs/_build")
    return built or python("docs/search.py")


# How many mutations of a kind are tried.
MUTATIONS = {
    "text": 100_000,
    "booster": 20_000,
    "binary": 20_000,
    "dataset": 20_000,
    "estimator": 20_000,
}


def mutations() -> int:
    """Load damaged models and data sets: others for each SKGOSS_NIGHT, a number."""
    night = int(os.environ.get("SKGOSS_NIGHT", "0"))
    program = ("-m", "helpers.mutations")
    return max(
        python(*program, kind, f"{night * n}", f"{(night + 1) * n}", PYTHONPATH=TESTS)
        for kind, n in MUTATIONS.items()
    )


def mutants() -> int:
    """Mutate modules: other mutations for each SKGOSS_NIGHT, a number."""
    return python("tools/mutants.py")


def reference() -> list[str]:
    """The public functions and classes: those of docs/api.rst."""
    page = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")
    return [f"skgoss.{name}" for name in re.findall(r"^   ([\w.]+)$", page, re.M)]


def methods(owner: str) -> Iterator[tuple[int, str]]:
    """The public methods and properties of a class, with a number for each."""
    from numpydoc.validate import Validator

    found = Validator._load_obj(owner)
    for base in found.__mro__ if inspect.isclass(found) else ():
        for name, value in vars(base).items():
            is_method = isinstance(value, METHODS) and not name.startswith("_")
            # Methods of scikit-learn, and of tuples, are not ours to describe.
            home = getattr(getattr(value, "fget", value), "__module__", "")
            if is_method and home.startswith("skgoss"):
                yield id(value), f"{owner}.{name}"


def docstrings() -> int:
    """Validate the docstrings of the public names, as users see them."""
    from numpydoc.validate import validate

    with open(ROOT / "pyproject.toml", "rb") as file:
        ignored = tomllib.load(file)["tool"]["numpydoc_validation"]["checks"]
    left_out = dict.fromkeys(reference(), ignored)
    inherited_once: dict[int, str] = {}
    for owner in left_out:
        for number, name in methods(owner):
            inherited_once.setdefault(number, name)
    left_out |= {name: [*ignored, *OF_CLASSES] for name in inherited_once.values()}
    errors = [
        f"{name}: {code} {message}"
        for name, codes in left_out.items()
        for code, message in validate(name)["errors"]
        if code not in codes
    ]
    print(*errors, f"{len(left_out)} docstrings, {len(errors)} errors", sep="\n")
    return bool(errors)


CHECKS = {
    check.__name__: check
    for check in (
        *(lint, types, docstrings, workflows, pages, notebooks, site),
        *(coverage, sanitizers, threads, machines, mutations, mutants, fuzz),
        *(targets, wheel, twice, dependencies),
    )
}


def main() -> int:
    """Run the checks that are asked for."""
    line = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    line.add_argument("checks", nargs="+", choices=list(CHECKS), metavar="check")
    line.epilog = "\n".join(f"{name:12} {f.__doc__}" for name, f in CHECKS.items())
    return max(CHECKS[name]() for name in line.parse_args().checks)


if __name__ == "__main__":
    sys.exit(main())
