"""Checks beside the tests, one command each: ``python tools/check.py types``.

``python -m pip install ".[tests,checks]"`` installs what they need.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from instrumented import ROOT, coverage, run, sanitizers, threads
from pages import pages
from wheels import dependencies, targets, wheel

METHODS = (Callable, property, classmethod, staticmethod)
# numpydoc's checks for examples and links: methods have those of their class.
OF_CLASSES = ("EX01", "SA01")


def python(*arguments: str | Path) -> int:
    """Run a Python program with the installed package, not with the source folder."""
    return run(sys.executable, *arguments, env={**os.environ, "PYTHONSAFEPATH": "1"})


def types() -> int:
    """Check the types of the modules that users import, and of calls as users write."""
    return python("-m", "mypy")


def spelling() -> int:
    """Look for misspelt words."""
    return python("-m", "codespell_lib")


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
        *(types, docstrings, spelling, pages, coverage, sanitizers, threads),
        *(targets, wheel, dependencies),
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
