"""Small changes (mutants) of single modules, which the tests of the module must see.

``python tools/mutants.py fit/fit_data model/*`` changes these modules, and with
``--sample 200``, 200 of all their changes, drawn at random.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import multiprocessing
import os
import random
import resource
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from itertools import count
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]

# The modules that are changed, and how often each.
CHANGED = (
    *("fit/*", "several_fits/*", "model_selection/*"),
    *("objectives/survival", "objectives/distributions"),
)
CHANGES = 40

# Tests stand in the file with the name of the module. These have others, or more.
TESTS = {
    "fit/arguments": ("fit/test_arguments", "training/test_evaluation"),
    "fit/fit": (
        *("fit/test_fit", "fit/test_shared_bins", "booster/test_booster"),
        *("fit/test_arguments", "fit/test_time_limit"),
    ),
    "fit/fit_data": ("fit/test_fit_data", "fit/test_fit", "training/test_evaluation"),
    "several_fits/folds": (
        "several_fits/test_folds",
        "several_fits/test_blending",
        "fit/test_time_limit",
    ),
    "several_fits/blending": ("several_fits/test_blending", "several_fits/test_folds"),
    "several_fits/entry": (
        "several_fits/test_folds",
        "fit/test_splits",
        "parameters/test_presets",
    ),
    "several_fits/preset_search": ("parameters/test_presets", "fit/test_time_limit"),
    "fit/splits": ("fit/test_splits", "several_fits/test_folds"),
    "fit/several_outputs": ("fit/test_several_outputs", "fit/test_quantiles"),
    "model_selection/shared_fits": (
        *("model_selection/test_shared_fits", "model_selection/test_searches"),
    ),
    "model_selection/candidates": (
        *("model_selection/test_candidates", "model_selection/test_search_race"),
    ),
    "model_selection/searches": (
        *("model_selection/test_searches", "model_selection/test_search_race"),
    ),
    "model_selection/shared_search": (
        *("model_selection/test_shared_search", "model_selection/test_searches"),
        *("model_selection/test_search_race", "model_selection/test_splitters"),
    ),
    "objectives/distributions": (
        *("objectives/test_distributions", "objectives/test_survival"),
    ),
}

# The share, in percent, that tests must see: some changes change nothing.
LEAST_SEEN = 80

# A change is also seen if tests need this multiple of their processor time plus these
# seconds, or this multiple of that by the clock, which other programs may slow down.
TIMES, SECONDS, WAITING = 3, 60.0, 10

PYTEST = ("-q", "-p", "no:cacheprovider")


# --- Changes --------------------------------------------------------------------------


def changes(source: str) -> list[Callable[[], str]]:
    """The changes inside of functions of a module: each makes its source with one.

    Strings are not changed, because the wording of errors is free.
    """
    import libcst
    from mutmut.mutation.mutators import mutation_operators

    module = libcst.parse_module(source)
    found: list[Callable[[], str]] = []

    def source_with(*change: libcst.CSTNode) -> str:
        return module.deep_replace(*change).code

    def n_checks(node: libcst.CSTNode) -> int:
        """How often a node says ``strict=True``, which checks what is always true."""
        return module.code_for_node(node).count("strict=True")

    class Changes(libcst.CSTVisitor):
        depth = 0

        def on_visit(self, node: libcst.CSTNode) -> bool:
            if isinstance(node, libcst.Annotation | libcst.Decorator):
                return False
            if self.depth and not isinstance(node, libcst.BaseString):
                for kind, operator in mutation_operators:
                    made = operator(node) if isinstance(node, kind) else ()
                    known = n_checks(node)
                    found.extend(
                        partial(source_with, node, m)
                        for m in made
                        if n_checks(m) == known
                    )
            self.depth += isinstance(node, libcst.FunctionDef | libcst.Lambda)
            return True

        def on_leave(self, node: libcst.CSTNode) -> None:
            self.depth -= isinstance(node, libcst.FunctionDef | libcst.Lambda)

    module.visit(Changes())
    return found


def changed(source: str, n: int, seed: str) -> list[str]:
    """The source of a module with a change, each time another drawn at random."""
    found = changes(source)
    chosen = random.Random(seed).sample(range(len(found)), min(n, len(found)))
    return [found[k]() for k in sorted(chosen)]


def difference(source: str, other: str) -> tuple[int, list[str]]:
    """The number of the first line that differs; the lines before and after."""
    old, new = source.splitlines(), other.splitlines()
    pairs = zip(count(1), old, new, strict=False)
    first = next(number for number, a, b in pairs if a != b)
    lines = list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]
    return first, [line for line in lines if not line.startswith("@@")]


def statement(source: str, line: int) -> range:
    """The lines of the innermost statement that has a line, without its body."""
    found = range(line, line + 1)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.end_lineno is not None:
            body = getattr(node, "body", None)
            lines = range(node.lineno, body[0].lineno if body else node.end_lineno + 1)
            found = lines if line in lines else found
    return found


# --- Tests ----------------------------------------------------------------------------


class Changed(SourceFileLoader, MetaPathFinder):
    """Imports a module from a source that is not that of its file."""

    def __init__(self, path: Path, source: str) -> None:
        name = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        super().__init__(name, str(path))
        self.source = source

    def find_spec(self, name: str, *_: Any) -> Any:
        is_it = name == self.name
        return spec_from_file_location(name, self.path, loader=self) if is_it else None

    def get_code(self, fullname: str) -> Any:
        return compile(self.source, self.path, "exec")


class Order:
    """A plugin of pytest: runs the tests that are named, the quick ones first."""

    def __init__(self, times: dict[str, float]) -> None:
        self.times = times

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.nodeid in self.times]
        items.sort(key=lambda item: self.times[item.nodeid])


class Followed:
    """A plugin of pytest: notes the time of each test, and which run each line.

    What sets a fixture up that several tests share is run for each of them.
    """

    def __init__(self, path: Path) -> None:
        from coverage import Coverage

        self.path = str(path)
        options = {"config_file": False, "include": [self.path]}
        self.coverage = Coverage(data_file=None, **options)
        self.times: dict[str, float] = defaultdict(float)
        self.tests_of: dict[str, set[str]] = defaultdict(set)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        for name in (item.nodeid, *item.fixturenames):
            self.tests_of[name].add(item.nodeid)
        self.coverage.switch_context(item.nodeid)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        self.coverage.switch_context(fixturedef.argname)
        result = yield
        self.coverage.switch_context(request._pyfuncitem.nodeid)
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.times[report.nodeid] += report.duration

    def by_line(self) -> dict[int, set[str]]:
        """The tests that run each line; all run those of the module itself."""
        lines = self.coverage.get_data().contexts_by_lineno(self.path)
        tests_of = self.tests_of | {"": set(self.times)}
        return {
            line: set().union(*(tests_of[name] for name in names))
            for line, names in lines.items()
        }


def run_changed(
    path: Path, source: str, tests: list[str], times: dict[str, float]
) -> int:
    """Run tests with a source of a module, until one fails; the status of pytest."""
    sys.meta_path.insert(0, Changed(path, source))
    return int(pytest.main([*PYTEST, "-x", *tests], [Order(times)]))


def run_followed(
    path: Path, source: str, tests: list[str]
) -> tuple[int, dict[int, set[str]], dict[str, float]]:
    """Run tests; the status, those that run each line of a module, and their times."""
    sys.meta_path.insert(0, Changed(path, source))
    followed = Followed(path)
    with followed.coverage.collect():
        status = pytest.main([*PYTEST, *tests], [followed])
    return int(status), followed.by_line(), dict(followed.times)


def forked(seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns in another process; None if that ends or is too slow."""

    def call() -> None:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), -1))
        silence = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(silence, stream)
        sender.send(function(*arguments))

    forking = multiprocessing.get_context("fork")
    receiver, sender = forking.Pipe(duplex=False)
    process = forking.Process(target=call)
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(WAITING * seconds) else None
    except EOFError:
        return None
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.join()


# --- Report ---------------------------------------------------------------------------


def seen(path: Path, n: int, night: str) -> list[bool]:
    """Which changes the tests of a module see; the others are printed."""
    name = path.relative_to(ROOT / "skgoss").with_suffix("").as_posix()
    usual = (name.replace("/", "/test_"),)
    tests = [f"tests/{file}.py" for file in TESTS.get(name, usual)]
    source = path.read_text(encoding="utf-8")
    followed = forked(1800.0, run_followed, path, source, tests)
    status, by_line, times = followed or (1, {}, {})
    if status:
        sys.exit(f"{name}: its tests fail although nothing was changed.")
    limit, found = TIMES * sum(times.values()) + SECONDS, []
    for other in changed(source, n, f"{name} {night}"):
        line, lines = difference(source, other)
        near = {t for k in statement(source, line) for t in by_line.get(k, ())}
        first = {test: times[test] for test in near}
        status = forked(limit, run_changed, path, other, tests, first) if near else 0
        found.append(status != 0)
        if not found[-1]:
            print(f"{name}.py:{line}", *lines, sep="\n    ", flush=True)
    print(f"{name}: {sum(found)} of {len(found)} changes are seen", flush=True)
    return found


def interval(n_seen: int, n: int) -> tuple[float, float]:
    """Wilson's 95% interval of a proportion, in percent."""
    share, z = n_seen / n, 1.96
    center = share + z**2 / (2 * n)
    width = z * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low, high = ((center + sign * width) / (1 + z**2 / n) for sign in (-1, 1))
    return 100 * low, 100 * high


def main(arguments: Sequence[str]) -> int:
    """Mutate modules; 1 if tests see too few of the changes."""
    line = argparse.ArgumentParser()
    line.add_argument("modules", nargs="*", default=CHANGED)
    line.add_argument("--sample", type=int)
    options = line.parse_args(arguments)
    # What takes long to import, and is not ours; conftest.py has the variable.
    os.environ.setdefault("SCIPY_ARRAY_API", "1")
    for package in ("sklearn.model_selection", "pandas", "narwhals", "scipy.optimize"):
        importlib.import_module(package)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.chdir(ROOT)
    night = os.environ.get("SKGOSS_NIGHT", "0")
    paths = [p for m in options.modules for p in sorted(ROOT.glob(f"skgoss/{m}.py"))]
    numbers = {path: CHANGES for path in paths if path.stem != "__init__"}
    if options.sample is not None:
        sizes = [len(changes(path.read_text(encoding="utf-8"))) for path in numbers]
        drawn = random.Random(night).sample([*numbers], options.sample, counts=sizes)
        numbers = Counter(drawn)
    found = [
        is_seen for path in numbers for is_seen in seen(path, numbers[path], night)
    ]
    n_seen, n = sum(found), len(found)
    low, high = interval(n_seen, n)
    print(
        f"{n_seen} of {n} changes are seen: {100 * n_seen / n:.1f} %"
        f" ({low:.0f} to {high:.0f} % of all)"
    )
    return int(n_seen < n * LEAST_SEEN / 100)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
