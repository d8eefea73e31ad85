"""Tests with an instrumented engine: sanitizers, and line coverage."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The folder from which the tests import, and what they share.
TESTS = str(ROOT / "tests")

# The tests that call kernels themselves, and small fits, by folder of tests/.
ENGINE_TESTS = {
    "binning": ["bin_values", "find_bins", "storage"],
    "columns": ["categories", "factorize"],
    "engine": [
        *("category_splits", "distributed_engine", "histograms", "score"),
        *("instruction_sets", "store"),
    ],
    "model": ["contributions", "linear", "predictions"],
    "objectives": ["metrics", "objectives", "ranking", "training_objective"],
    "project": ["golden"],
    "training": ["constraints", "feature_subset", "sampling"],
}

# The allocator of polars ends a process that runs with ThreadSanitizer, as does memory
# that LightGBM frees in its own threads: tests that call it have its name.
WITH_POLARS = ("tests/columns/test_categories.py", "tests/columns/test_factorize.py")
WITHOUT_LIGHTGBM = ("-k", "not lightgbm")


def run(*command: str | Path, **given: object) -> int:
    """Run a command in the project's root; its return code."""
    done = subprocess.run([*map(str, command)], cwd=ROOT, check=False, **given)
    return done.returncode


def built(name: str, *options: str, **variables: str) -> Path:
    """Build the engine with options of Meson; the folder that has the package.

    The folder stays, and the next build compiles what has changed since. The
    variables are added to the environment.
    """
    made = ROOT / "build" / name
    again = ("--reconfigure",) if made.is_dir() else ()
    shutil.rmtree(made / "installed", ignore_errors=True)
    for command in (
        ("meson", "setup", *again, made, ROOT, "-Ddebug=true", *options),
        ("meson", "install", "--quiet", "-C", made, "--destdir", made / "installed"),
    ):
        if run(*command, env={**os.environ, **variables}):
            sys.exit(f"{name}: the engine could not be built.")
    return next((made / "installed").rglob("skgoss/__init__.py")).parents[1]


def environment(place: Path, **variables: str) -> dict[str, str]:
    """Variables by which Python imports the package of a folder."""
    made = {**os.environ, "PYTHONPATH": str(place), "PYTHONSAFEPATH": "1", **variables}
    question = [sys.executable, "-c", "import skgoss; print(skgoss.__path__[0])"]
    found = subprocess.check_output(question, env=made, text=True).strip()
    if found != str(place / "skgoss"):
        sys.exit(
            f"Python imports {found} in place of {place / 'skgoss'}. An editable"
            " installation does this: use an environment without one."
        )
    return made


def engine_tests() -> list[str]:
    """The files of the tests that call kernels themselves, and of small fits."""
    tests = ((folder, name) for folder, ns in ENGINE_TESTS.items() for name in ns)
    return [f"tests/{folder}/test_{name}.py" for folder, name in tests]


# --- Sanitizers -----------------------------------------------------------------------


def library(name: str) -> str:
    """The path of a library of the compiler."""
    command = ["cc", f"-print-file-name={name}"]
    return subprocess.check_output(command, text=True).strip()


def run_tests(place: Path, *tests: str, preload: list[str], **variables: str) -> int:
    """Run tests with a package whose engine needs libraries of the compiler.

    ``tests``: their files, or other arguments of pytest.
    """
    made = environment(
        place,
        LD_PRELOAD=" ".join(preload),
        PYTHONMALLOC="malloc",
        # Python keeps memory until it ends, which would be reported as a leak.
        ASAN_OPTIONS="detect_leaks=0",
        UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1",
        **variables,
    )
    return run(sys.executable, "-m", "pytest", "-q", "--capture=no", *tests, env=made)


def sanitizers() -> int:
    """Run the engine's tests with AddressSanitizer and UndefinedBehaviorSanitizer."""
    place = built(
        "sanitizers",
        *("-Doptimization=1", "-Db_sanitize=address,undefined", "-Db_lundef=false"),
        # A cast to int of a number that is too large depends on the processor.
        "-Dc_args=-fsanitize=float-cast-overflow",
    )
    libraries = [library("libasan.so"), library("libubsan.so")]
    return run_tests(place, *engine_tests(), preload=libraries)


def threads() -> int:
    """Run the engine's tests with ThreadSanitizer."""
    place = built(
        *("threads", "-Doptimization=1", "-Db_sanitize=thread", "-Db_lundef=false")
    )
    tests = [file for file in engine_tests() if file not in WITH_POLARS]
    not_ours = ROOT / "tools" / "threads.supp"
    return run_tests(
        place,
        "tests/users/test_threads.py",
        *tests,
        *WITHOUT_LIGHTGBM,
        preload=[library("libtsan.so")],
        TSAN_OPTIONS=f"exitcode=66:report_signal_unsafe=0:suppressions={not_ours}",
    )


# --- Fuzzing --------------------------------------------------------------------------

# The readers of files and states, and for how many seconds each is fuzzed.
FUZZED = ("text", "booster", "binary", "dataset", "state", "csv", "libsvm")
SECONDS = 600


def fuzz() -> int:
    """Fuzz the readers of files for ten minutes each. It needs the extra ``fuzz``.

    SKGOSS_READER names one of them, and SKGOSS_SECONDS another time. With clang, bytes
    are also sought that reach new lines of the engine.
    """
    asked = os.environ.get("SKGOSS_READER")
    seconds = os.environ.get("SKGOSS_SECONDS", SECONDS)
    program = (sys.executable, "-m", "fuzz.readers")
    variables = _followed() if shutil.which("clang") else {**os.environ}
    path = os.pathsep.join(filter(None, (variables.get("PYTHONPATH"), TESTS)))
    variables |= {"PYTHONPATH": path, "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}
    return max(
        run(*program, name, f"-max_total_time={seconds}", env=variables)
        for name in ((asked,) if asked else FUZZED)
    )


def _followed() -> dict[str, str]:
    """Variables by which Python imports an engine whose lines libFuzzer counts."""
    counted = "-fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp"
    place = built("fuzz", f"-Dc_args={counted}", CC="clang")
    question = [sys.executable, "-c", "import atheris; print(atheris.path())"]
    folder = subprocess.check_output(question, text=True).strip()
    return environment(place, LD_PRELOAD=str(Path(folder, "ubsan_with_fuzzer.so")))


# --- Coverage -------------------------------------------------------------------------

# The share of the lines, in percent, that tests must run: of Python, and of the engine.
LEAST_COVERED = 98
# A test whose limits of time are for kernels that the compiler has optimized.
OF_FAST_KERNELS = "tests/engine/test_signals.py::test_an_interrupt_ends_a_kernel"
# Counts of the lines of a file that have code, by number.
Lines = dict[int, int]
_MARK = re.compile(r'\s*/\* "(?P<path>.+)":(?P<line>\d+)$')
# What Cython writes for itself begins with one of these comments.
_OF_CYTHON = (
    "/* function exit code */",
    "/* #### Code section:",
    "/* Late includes */",
)


def coverage() -> int:
    """Run the tests; count the lines of Python and of the engine that they reach."""
    place = built("coverage", "-Doptimization=0", "-Db_coverage=true")
    for old in (ROOT / "build" / "coverage").rglob("*.gcda"):
        old.unlink()
    variables = environment(place, COVERAGE_FILE=str(ROOT / "build" / ".coverage"))
    coverage_of = (sys.executable, "-m", "coverage")
    run(*coverage_of, "erase", env=variables)
    tests = ("-m", "pytest", "-q", "-n", "auto", f"--deselect={OF_FAST_KERNELS}")
    failed = run(*coverage_of, "run", *tests, env=variables)
    run(*coverage_of, "combine", "--quiet", env=variables)
    few = run(*coverage_of, "report", f"--fail-under={LEAST_COVERED}", env=variables)
    share = report(engine_lines(ROOT / "build" / "coverage"))
    return failed or few or share < LEAST_COVERED / 100


def report(lines: dict[str, Lines]) -> float:
    """Print how many lines of each file have run, and which have not; their share."""
    table = [
        (sum(map(bool, counts.values())), len(counts), name, _missed(counts))
        for name, counts in lines.items()
    ]
    table.sort(key=lambda row: row[0] / row[1])
    table.append((sum(r[0] for r in table), sum(r[1] for r in table), "all", ""))
    for n_run, n_lines, name, missed in table:
        print(f"{name:45} {n_lines:5} {n_run / n_lines:7.1%}  {missed}")
    n_run, n_lines, *_ = table[-1]
    return n_run / n_lines


def _missed(counts: Lines) -> str:
    """The numbers of lines that have not run."""
    return " ".join(str(number) for number in sorted(counts) if not counts[number])


def engine_lines(made: Path) -> dict[str, Lines]:
    """How often each line of the engine's sources has run, by file."""
    counts: dict[str, Lines] = defaultdict(lambda: defaultdict(int))
    for name, number, count in _counted(made):
        counts[name][number] = max(counts[name][number], count)
    return counts


def _counted(made: Path) -> Iterator[tuple[str, int, int]]:
    """File, line and count of the lines that have code, once for each place in C."""
    for notes in made.rglob("*.gcno"):
        command = ["gcov", "--json-format", "--stdout", notes]
        told = subprocess.check_output(command, cwd=made, stderr=subprocess.DEVNULL)
        for file in json.loads(told)["files"]:
            source = (made / file["file"]).resolve()
            if source.suffix == ".c":
                origins = _origins(source)
            elif source.is_relative_to(ROOT / "skgoss"):
                origins = None
            else:
                continue
            for line in file["lines"]:
                at = line["line_number"]
                if origins is None:
                    yield str(source.relative_to(ROOT)), at, line["count"]
                elif at in origins:
                    yield *origins[at], line["count"]


def _origins(source: Path) -> dict[int, tuple[str, int]]:
    """The file and line that Cython made each line of a C file of."""
    origins = {}
    current = None
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        mark = _MARK.match(line)
        if mark:
            path = mark["path"]
            current = (path, int(mark["line"])) if path.startswith("skgoss") else None
        elif line.lstrip().startswith(_OF_CYTHON):
            current = None
        if current is not None:
            origins[number] = current
    return origins
