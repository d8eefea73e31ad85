"""The tools that check the project."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
INSTRUMENTED = runpy.run_path(str(ROOT / "tools" / "instrumented.py"))


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
