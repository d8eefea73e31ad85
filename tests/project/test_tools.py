"""The tools that check the project."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

ROOT = Path(__file__).parents[2]
INSTRUMENTED = runpy.run_path(str(ROOT / "tools" / "instrumented.py"))
MUTANTS = runpy.run_path(str(ROOT / "tools" / "mutants.py"))
SIDE_BY_SIDE = runpy.run_path(str(ROOT / "benchmarks" / "side_by_side.py"))


def test_the_tests_of_the_engine_are_there():
    files = INSTRUMENTED["engine_tests"]()
    assert [file for file in files if not (ROOT / file).is_file()] == []
    assert set(INSTRUMENTED["WITH_POLARS"]) < set(files)


def test_lines_of_c_have_the_lines_of_cython_that_they_were_made_of(tmp_path):
    source = tmp_path / "some.c"
    lines = (
        "int before;",
        '  /* "skgoss/_engine/some.pyx":7',
        " * x = 1",
        " */",
        "  x = 1;",
        '  /* "View.MemoryView":3',
        "  y = 2;",
        '/* "skgoss/_engine/other.pxd":9',
        "  z = 3;",
        "  /* function exit code */",
        "  return z;",
    )
    source.write_text("\n".join(lines), encoding="utf-8")
    origins = INSTRUMENTED["_origins"](source)
    assert origins[5] == ("skgoss/_engine/some.pyx", 7)
    assert origins[9] == ("skgoss/_engine/other.pxd", 9)
    assert not {1, 7, 11} & origins.keys()


def test_report_counts_lines(capsys):
    INSTRUMENTED["report"]({"a.pyx": {1: 4, 2: 0}, "b.pyx": {5: 0, 6: 1, 7: 2, 8: 9}})
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert words == [
        ["a.pyx", "2", "50.0%", "2"],
        ["b.pyx", "4", "75.0%", "5"],
        ["all", "6", "66.7%"],
    ]


# Each step: one second with the interpreter's lock, two without, and a region of four
# parts, which costs half a second.
@pytest.mark.parametrize(
    ("n_steps", "n_threads", "seconds"),
    [
        ([1], 1, 3.5),
        ([1, 1], 1, 7.0),
        ([1, 1], 2, 4.75),  # the second step waits for the lock until 1.25
        ([2, 1], 2, 7.0),  # and is over before the first run goes on
        ([1, 1, 1], 4, 6.0),
    ],
)
def test_fits_side_by_side_wait_for_the_lock(n_steps, n_threads, seconds):
    step = SIDE_BY_SIDE["with_overhead"](
        [(1.0, 2.0, 4, 2.0)], lambda levels, n_parts: levels / 8 + n_parts / 16
    )
    runs = [[step] * n for n in n_steps]
    assert SIDE_BY_SIDE["together"](runs, n_threads, 0.25) == seconds


SOURCE = """
LIMIT = 3


def larger(x, other="words"):
    if x > LIMIT and other:
        return [
            x + 1,
            other,
        ]
    return max(x, LIMIT)
"""


def test_modules_that_are_changed_have_tests():
    for pattern in MUTANTS["CHANGED"]:
        assert list((ROOT / "skgoss").glob(f"{pattern}.py")), pattern
    for module, files in MUTANTS["TESTS"].items():
        assert (ROOT / "skgoss" / f"{module}.py").is_file()
        assert [f for f in files if not (ROOT / "tests" / f"{f}.py").is_file()] == []


def test_a_change_is_found_with_the_lines_of_its_statement():
    other = SOURCE.replace("x + 1", "x - 1")
    line, lines = MUTANTS["difference"](SOURCE, other)
    assert (line, lines) == (8, ["-            x + 1,", "+            x - 1,"])
    assert MUTANTS["statement"](SOURCE, line) == range(7, 11)
    assert MUTANTS["statement"](SOURCE, 6) == range(6, 7)
    assert MUTANTS["statement"](SOURCE, 11) == range(11, 12)


def test_changes_are_made_inside_of_functions():
    pytest.importorskip("mutmut")
    made = MUTANTS["changed"](SOURCE, 100, "")
    changed = {MUTANTS["difference"](SOURCE, other)[1][1].strip("+ ") for other in made}
    assert {"x - 1,", "x + 2,", "if x >= LIMIT and other:"} <= changed
    assert {"return max(None, LIMIT)", "return max(x, )"} <= changed
    assert not any("LIMIT = " in line or "XX" in line for line in changed)
    assert MUTANTS["changed"](SOURCE, 3, "a") == MUTANTS["changed"](SOURCE, 3, "a")
    assert len(MUTANTS["changed"](SOURCE, 3, "b")) == 3
    assert len(MUTANTS["changes"](SOURCE)) == len(made)


@pytest.mark.parametrize(("n_seen", "n"), [(0, 10), (10, 10), (81, 263)])
def test_an_interval_of_a_share(n_seen, n):
    expected = binomtest(n_seen, n).proportion_ci(method="wilson")
    found = MUTANTS["interval"](n_seen, n)
    assert found == pytest.approx(100 * np.array(expected), abs=0.01)
