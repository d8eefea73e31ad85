"""Checks beside the tests, one command each: ``python tools/check.py types``.

``python -m pip install ".[checks]"`` installs what they need. They check the installed
package.
"""

from __future__ import annotations

import argparse
import inspect
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from wheels import dependencies, targets, wheel

ROOT = Path(__file__).parents[1]


def run(*command: str | Path, **given: object) -> int:
    """Run a command in the project's root; its return code."""
    return subprocess.run(list(map(str, command)), cwd=ROOT, **given).returncode


def python(*arguments: str | Path) -> int:
    """Run a Python program with the installed package, not with the source folder."""
    return run(sys.executable, *arguments, env={**os.environ, "PYTHONSAFEPATH": "1"})


def types() -> int:
    """Check the types of the public names, by a file that uses them."""
    return python("-m", "mypy")


def spelling() -> int:
    """Look for misspelt words."""
    return python("-m", "codespell_lib")


def public_names() -> Iterator[str]:
    """The public functions, classes, methods and properties."""
    import skgoss

    for name in skgoss.__all__:
        found = getattr(skgoss, name)
        yield f"skgoss.{name}"
        for member, value in vars(found).items() if inspect.isclass(found) else ():
            if not member.startswith("_") and isinstance(
                value, Callable | property | classmethod | staticmethod
            ):
                yield f"skgoss.{name}.{member}"


def docstrings() -> int:
    """Validate the docstrings of the public names, as users see them."""
    from numpydoc.validate import validate

    with open(ROOT / "pyproject.toml", "rb") as file:
        ignored = tomllib.load(file)["tool"]["numpydoc_validation"]["checks"]
    errors = [
        f"{name}: {code} {message}"
        for name in public_names()
        for code, message in validate(name)["errors"]
        if code not in ignored
    ]
    print(*errors, sep="\n")
    return bool(errors)


def coverage() -> int:
    """Run the tests and count the lines of Python that they reach."""
    failed = python("-m", "coverage", "run", "--source", "skgoss", "-m", "pytest")
    return failed or python("-m", "coverage", "report", "--sort", "cover")


def build(folder: Path, *options: str) -> int:
    """Build the engine with options of Meson, and put it in `folder`."""
    made = folder / "build"
    return run("meson", "setup", made, ROOT, *options) or run(
        "meson", "install", "-C", made, "--destdir", folder / "installed"
    )


def sanitizers() -> int:
    """Run the engine's tests with AddressSanitizer and UndefinedBehaviorSanitizer."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = ("-Db_sanitize=address,undefined", "-Db_lundef=false")
        if build(folder, "-Ddebug=true", "-Doptimization=1", *options):
            return 1
        place = next((folder / "installed").rglob("skgoss/__init__.py")).parents[1]
        libraries = [
            subprocess.check_output(["cc", f"-print-file-name={library}"], text=True)
            for library in ("libasan.so", "libubsan.so")
        ]
        tests = sorted(map(str, (ROOT / "tests").glob("test_*.py")))
        chosen = [path for path in tests if Path(path).stem[5:] in ENGINE_TESTS]
        return run(
            *(sys.executable, "-m", "pytest", "-q", "--capture=no", *chosen),
            env={
                **os.environ,
                "PYTHONPATH": str(place),
                "PYTHONMALLOC": "malloc",
                "LD_PRELOAD": " ".join(library.strip() for library in libraries),
                # Python keeps memory until it ends, which is no leak of ours.
                "ASAN_OPTIONS": "detect_leaks=0",
                "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
            },
        )


ENGINE_TESTS = (
    *("binning", "bundling", "categories", "categories_split", "constraints"),
    *("contributions", "drawn", "golden", "linear", "losses", "metrics", "predict"),
    *("ranking", "sampling", "score", "shares_engine", "storage", "store"),
)


CHECKS = {
    check.__name__: check
    for check in (
        *(types, docstrings, spelling, coverage, sanitizers),
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
