"""Careless changes, one at a time, which the tests of the changed module must see.

``python tools/mutants.py fit/race model/intervals`` makes some in these modules.
"""

from __future__ import annotations

import ast
import difflib
import multiprocessing
import os
import random
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

# The modules that are changed, and how often each. Other numbers select other changes.
CHANGED = ("fit/*", "model_selection/*", "objectives/survival", "objectives/distributions")
SAMPLE = 50

# Tests stand in the file with the name of the module. These have others, or more.
TESTS = {
    "fit/fit": ("fit/test_fit", "fit/test_shared_bins"),
    "fit/lightgbm3": ("users/test_lightgbm_habits", "users/test_migrating"),
    "fit/several_outputs": ("fit/test_several_outputs", "fit/test_quantiles"),
    "fit/train_arguments": ("booster/test_train", "booster/test_cv"),
}

# The share, in percent, that tests must see; some changes change nothing.
LEAST_SEEN = 80

# A change that makes tests so many times slower, or by so many seconds, is seen.
SLOWER, SECONDS = 3, 30.0


def modules(patterns: Collection[str]) -> list[str]:
    """The modules of these patterns, each as ``room/name``."""
    found = [f for p in patterns for f in sorted(ROOT.glob(f"skgoss/{p}.py"))]
    names = [str(f.relative_to(ROOT / "skgoss").with_suffix("")) for f in found]
    return [name for name in names if not name.endswith("__init__")]


# --- Changes --------------------------------------------------------------------------


def changes(source: str, n: int, seed: str) -> list[str]:
    """Sources of a module with one change each, inside of a function.

    Words are not changed: those of errors may be said otherwise.
    """
    import libcst
    from mutmut.mutation.mutators import mutation_operators

    class Visitor(libcst.CSTVisitor):
        def __init__(self) -> None:
            self.found: list[tuple[libcst.CSTNode, libcst.CSTNode]] = []
            self.depth = 0

        def on_visit(self, node: libcst.CSTNode) -> bool:
            if isinstance(node, libcst.Annotation | libcst.Decorator):
                return False
            for kind, operator in mutation_operators if self.depth else ():
                if isinstance(node, kind) and not isinstance(node, libcst.BaseString):
                    self.found.extend(
                        (node, changed)
                        for changed in operator(node)
                        if n_checks(node) == n_checks(changed)
                    )
            self.depth += isinstance(node, libcst.FunctionDef | libcst.Lambda)
            return True

        def on_leave(self, node: libcst.CSTNode) -> None:
            self.depth -= isinstance(node, libcst.FunctionDef | libcst.Lambda)

    def n_checks(node: libcst.CSTNode) -> int:
        """The number of ``strict=True``, which is for what is never wrong."""
        return module.code_for_node(node).count("strict=True")

    module, visitor = libcst.parse_module(source), Visitor()
    module.visit(visitor)
    chosen = sorted(random.Random(seed).sample(range(len(visitor.found)), k=min(n, len(visitor.found))))
    return [module.deep_replace(*visitor.found[k]).code for k in chosen]


def difference(source: str, changed: str) -> tuple[int, list[str]]:
    """The number of the first line that was changed, and the lines before and after."""
    lines = list(difflib.unified_diff(source.splitlines(), changed.splitlines(), n=0))
    first = next(k for k, pair in enumerate(zip(source.splitlines(), changed.splitlines(), strict=False)) if len(set(pair)) > 1)
    return first + 1, [line for line in lines[3:] if not line.startswith("@@")]


def statement(source: str, line: int) -> range:
    """The lines of the innermost statement, without its body, that has a line."""
    found = range(line, line + 1)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            body = getattr(node, "body", None)
            stop = body[0].lineno if body else (node.end_lineno or 0) + 1
            found = range(node.lineno, stop) if line < stop else found
    return found


# --- Tests ----------------------------------------------------------------------------


class Changed(SourceFileLoader, MetaPathFinder):
    """Imports a module from a source that is not that of its file."""

    def __init__(self, module: str, source: str) -> None:
        super().__init__(f"skgoss.{module.replace('/', '.')}", str(ROOT / "skgoss" / f"{module}.py"))
        self.source = source

    def find_spec(self, name: str, *_: Any) -> Any:
        if name == self.name:
            return spec_from_file_location(name, self.path, loader=self)
        return None

    def get_code(self, fullname: str) -> Any:
        return compile(self.source, self.path, "exec")


class Order:
    """A plugin of pytest: some tests come first; it notes the time that each takes."""

    def __init__(self, first: dict[str, float]) -> None:
        self.first = first
        self.seconds: dict[str, float] = defaultdict(float)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.first:
            items.sort(key=lambda item: self.first.get(item.nodeid, float("inf")))

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] += report.duration


def tested(module: str, source: str, first: dict[str, float]) -> tuple[int, str]:
    """Run the tests of a module with this source; the status, and the failed test."""
    import pytest

    sys.meta_path.insert(0, Changed(module, source))
    order = Order(first)
    arguments = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    status = pytest.main([*arguments, *files(module)], [order])
    return int(status), list(order.seconds or [""])[-1]


def followed(module: str) -> tuple[int, dict[int, set[str]], dict[str, float]]:
    """Run the tests of a module as it is: the tests of each line, and their times."""
    import pytest
    from coverage import Coverage

    path = str(ROOT / "skgoss" / f"{module}.py")
    coverage = Coverage(data_file=None, include=[path])

    class Follow(Order):
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
            coverage.switch_context(item.nodeid)
            result = yield
            coverage.switch_context("")
            return result

    follow = Follow({})
    coverage.start()
    arguments = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    status = pytest.main([*arguments, *files(module)], [follow])
    coverage.stop()
    lines = coverage.get_data().contexts_by_lineno(path)
    return int(status), {n: {*c} - {""} for n, c in lines.items()}, dict(follow.seconds)


def files(module: str) -> list[str]:
    room, name = module.split("/")
    return [f"tests/{file}.py" for file in TESTS.get(module, (f"{room}/test_{name}",))]


def forked(seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns in a process of its own; None if it ends or is too slow."""

    def call() -> None:
        os.setsid()
        for number in (1, 2):
            os.dup2(os.open(os.environ.get("SKGOSS_LOG", os.devnull), os.O_WRONLY | os.O_APPEND), number)
        sender.send(function(*arguments))

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=call)
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(seconds) else None
    except EOFError:
        return None
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.join()


# --- Report ---------------------------------------------------------------------------


def seen(module: str, n: int, night: str) -> tuple[int, int]:
    """Print the changes of a module that its tests do not see; how many are, of all."""
    source = (ROOT / "skgoss" / f"{module}.py").read_text(encoding="utf-8")
    status, by_line, times = forked(900.0, followed, module) or (-1, {}, {})
    if status:
        sys.exit(f"{module}: the tests fail without a change, with status {status}.")
    limit = SLOWER * sum(times.values()) + SECONDS
    made = changes(source, n, f"{module} {night}")
    n_seen = 0
    for number, changed in enumerate(made):
        line, text = difference(source, changed)
        names = {t for k in statement(source, line) for t in by_line.get(k, ())}
        first = {name: times[name] for name in names}
        found, by = forked(limit, tested, module, changed, first) or (-1, "")
        n_seen += found != 0
        if not found:
            print(f"{module}.py:{line}", *text, sep="\n    ", flush=True)
    print(f"{module}: {n_seen} of {len(made)} changes are seen", flush=True)
    return n_seen, len(made)


def mutants() -> int:
    """Change modules carelessly, and see whether their tests fail."""
    import numpy
    return main(CHANGED)


def main(patterns: Collection[str]) -> int:
    os.environ.setdefault("SCIPY_ARRAY_API", "1")
    # What takes time to import, and is not ours.
    import pandas, sklearn.model_selection  # noqa
    os.chdir(ROOT)
    counts = [seen(m, SAMPLE, os.environ.get("SKGOSS_NIGHT", "0")) for m in modules(patterns)]
    n_seen, n = (sum(column) for column in zip(*counts, strict=True))
    print(f"{n_seen} of {n} changes are seen")
    return n_seen < n * LEAST_SEEN / 100


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or CHANGED))
