import sys

import pytest

from skgoss.sources import text_tables


@pytest.fixture
def read_by(monkeypatch):
    """Let one of two packages alone read the files."""

    def read_by(package):
        if package == "pandas":
            pytest.importorskip("pandas")
            monkeypatch.setattr(text_tables, "_parse_by_item", None)
        else:
            monkeypatch.setitem(sys.modules, "pandas", None)

    return read_by


@pytest.fixture(params=["pandas", "numpy"])
def reader(request, read_by):
    """Let either package read the files."""
    read_by(request.param)


@pytest.fixture
def write(tmp_path):
    """Write a file, and those beside it; return its path."""

    def write(text, **beside):
        path = tmp_path / "rows.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        for suffix, content in beside.items():
            (tmp_path / f"rows.txt.{suffix}").write_text(content, encoding="utf-8")
        return path

    return write
