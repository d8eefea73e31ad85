"""Tables of numbers in text: CSV, TSV and LibSVM, headers and missing values.

The rules are LightGBM's. Files are read chunk by chunk: CSV and TSV by pandas, LibSVM
by scikit-learn. Where pandas is not installed, or finds an error, CSV and TSV are read
item by item.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgoss.sources.memory import FileState
from skgoss.sources.source import chunk_bytes
from skgoss.utils import optional

Values = NDArray[np.float64] | sparse.csr_matrix

# Missing values, in lower or upper case.
_MISSING = frozenset({"", "na", "nan", "null"})
_SPELLINGS = [
    *(text for word in _MISSING for text in (word, word.upper(), word.title())),
    "NaN",
]
NO_ROWS = "the file has no rows."
# The number of lines that the format is guessed from.
_N_LINES = 32
TAB = "\t"
_LINE_END = re.compile(rb"\r\n?|\n")
_TEXT = re.compile(rb"[^ \r\n]")
_NO_SPACE = re.compile(rb" *[^ \n]")


class TextChunk(NamedTuple):
    """Whole lines of a file, of which at least one is not empty."""

    body: bytes
    line: int  # the number of the first line

    @property
    def n_rows(self) -> int:
        """The number of rows: of lines that are not empty."""
        body = _LINE_END.sub(b"\n", self.body) if b"\r" in self.body else self.body
        text = np.frombuffer(body, np.uint8)
        start = np.append(0, np.flatnonzero(text == ord("\n")) + 1)
        if body.endswith(b"\n"):
            start = start[:-1]
        # Only lines that begin like an empty one are looked at.
        maybe = start[(text[start] == ord("\n")) | (text[start] == ord(" "))]
        return len(start) - sum(not _NO_SPACE.match(body, n) for n in maybe.tolist())


class SparseRows(NamedTuple):
    """Rows of a LibSVM file: their features, labels and queries."""

    data: sparse.csr_matrix
    label: NDArray[np.float64] | None
    queries: NDArray[np.int64] | None


class TextTable:
    """A table in a text file; one whose name ends in ``.gz`` is decompressed.

    ``names`` are those of all columns, if there is a header; None for LibSVM. ``width``
    is the number of columns; 0 for LibSVM, whose last columns may come at any row.
    OSError if the file cannot be read. ValueError if it has no rows, or a header that
    does not fit.
    """

    def __init__(self, path: str, header: bool) -> None:
        self.path = path
        self.has_header = header
        self._state = FileState.from_path(path)
        first = next(iter(self), None)
        if first is None:
            raise ValueError(NO_ROWS)
        start = b"".join(islice(io.BytesIO(first.body), _N_LINES))
        # Commas separate columns, which may hold times such as 12:30, to be ignored.
        self.is_libsvm = b":" in start and b"," not in start
        self.separator = TAB if b"\t" in start else ","
        self.names: list[str] | None = None
        self.width = 0
        if self.is_libsvm:
            self.is_labeled = b":" not in first.body.split(maxsplit=1)[0]
            return
        line = _first_line(first.body.lstrip(b" \r\n"))
        self.width = line.count(self.separator.encode()) + 1
        if header:
            head = _first_line(next(_chunks(path)))
            self.names = _names(head.decode(), self.separator, self.width)

    @property
    def n_bytes(self) -> int:
        """The size of the file."""
        return self._state.size

    def check_unchanged(self) -> None:
        """Raise ValueError if the file has changed since it was opened."""
        self._state.check_unchanged()

    def __iter__(self) -> Iterator[TextChunk]:
        """The rows, without the header."""
        line, is_header = 1, self.has_header
        for content in _chunks(self.path):
            body = content
            if is_header:
                body = b"".join(_LINE_END.split(content, maxsplit=1)[1:])
            if _TEXT.search(body):
                yield TextChunk(body, line + is_header)
            is_header = False
            line += _n_lines(content)

    def columns(
        self,
        chunk: TextChunk,
        numbers: list[int] | None = None,
        *,
        quick: bool = False,
        ignored: Collection[int] = (),
    ) -> NDArray[np.float64]:
        """Columns of a CSV or TSV file: those of the ``numbers``, in any order, or all.

        If ``quick``, other columns are not read, and errors in them not always found.
        Columns that are ``ignored`` may hold text, and their values here mean nothing.
        ValueError if a row has values that are not numbers, or too few or too many
        values. The message names the line.
        """
        read = sorted(set(numbers or ())) if quick else None
        if read is None and ignored:
            read = [number for number in range(self.width) if number not in ignored]
        table = _parse_by_pandas(chunk, self.separator, self.width, read)
        if table is None:  # pandas is not installed, or found an error
            table = _parse_by_item(chunk, self.separator, self.width, ignored)
            read = None
        if numbers is None:
            return table
        chosen: Sequence[int] | NDArray[np.int64] = numbers
        if read is not None:
            chosen = np.minimum(np.searchsorted(read, numbers), len(read) - 1)
        return table.T[chosen].T  # pandas has columns one after the other

    def n_rows(self, chunk: TextChunk) -> int:
        """The number of rows of a chunk. In LibSVM, a line may be a comment."""
        if not self.is_libsvm or b"#" not in chunk.body:
            return chunk.n_rows
        lines = io.BytesIO(chunk.body)
        return sum(bool(line.partition(b"#")[0].strip()) for line in lines)

    def parse(self, chunk: TextChunk) -> SparseRows:
        """The rows of a LibSVM file; errors are those of `columns`."""
        return _parse_libsvm(chunk, self.is_labeled)


def read_table(path: str) -> NDArray[np.float64]:
    """A small file of columns without names, as a whole."""
    table = TextTable(path, False)
    if table.is_libsvm:
        raise ValueError("columns between tabs or commas are expected, not LibSVM.")
    return np.concatenate([table.columns(chunk) for chunk in table])


def read_words(path: str) -> list[bytes]:
    """The words of a small file, which white space separates."""
    return list(chain.from_iterable(body.split() for body in _chunks(path)))


def _chunks(path: str) -> Iterator[bytes]:
    """Whole lines of a file, a few MB at a time."""
    opened = gzip.open if path.endswith(".gz") else open
    size, unfinished = chunk_bytes(), b""
    try:
        with opened(path, "rb") as file:
            if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
                file.seek(0)
            while content := file.read(size):
                if b"\0" in content:
                    raise ValueError("this is not UTF-8 text, but a binary file.")
                content = unfinished + content
                # A CR at the end may be half of a CRLF.
                end = content.rfind(b"\n") + 1 or content.rfind(b"\r", 0, -1) + 1
                if end:
                    yield content[:end]
                unfinished = content[end:]
    except (EOFError, zlib.error) as error:
        raise OSError(f"{path}: this gzip file is damaged: {error}") from error
    if unfinished:
        yield unfinished


def _n_lines(content: bytes) -> int:
    """The number of line ends: LF, CR and CRLF."""
    n_ends = content.count(b"\n") + content.count(b"\r")
    return n_ends - content.count(b"\r\n")


def _first_line(content: bytes) -> bytes:
    return _LINE_END.split(content, maxsplit=1)[0]


def _names(head: str, separator: str, width: int) -> list[str]:
    """The names of a header, which may be quoted."""
    names = [name.strip() for name in next(csv.reader([head], delimiter=separator), [])]
    if len(names) != width:
        raise ValueError(
            f"the header has {len(names)} names, but rows have {width} columns."
        )
    if len(set(names)) < len(names):
        twice = next(name for name, n in Counter(names).items() if n > 1)
        raise ValueError(f"the header has the name {twice!r} more than once.")
    return names


# --- LibSVM ---------------------------------------------------------------------------


# Overflows are those of huge column numbers.
_LIBSVM_ERRORS = ValueError, OverflowError


def _parse_libsvm(chunk: TextChunk, is_labeled: bool) -> SparseRows:
    """The rows of a chunk of LibSVM; errors name the line."""
    try:
        return _load_libsvm(chunk.body, is_labeled)
    except _LIBSVM_ERRORS as error:
        reason = _describe_libsvm_error(chunk, is_labeled) or str(error)
        raise ValueError(
            f"read as LibSVM, as the first lines have colons: {reason}"
        ) from error


def _load_libsvm(body: bytes, is_labeled: bool) -> SparseRows:
    """The rows of some lines; scikit-learn's reader needs a label in each."""
    from sklearn.datasets import load_svmlight_file

    if not is_labeled:
        lines = (line for line in io.BytesIO(body) if line.partition(b"#")[0].strip())
        body = b"".join(b"0 " + line for line in lines)
    data, label, queries = load_svmlight_file(
        io.BytesIO(body), zero_based=True, query_id=True
    )
    if len(queries) not in (0, len(label)):
        raise ValueError("some rows have a qid, and some have none.")
    return SparseRows(
        data, label if is_labeled else None, queries if len(queries) else None
    )


def _describe_libsvm_error(chunk: TextChunk, is_labeled: bool) -> str | None:
    """The error of the first line that cannot be read alone, with its number."""
    for n, line in enumerate(io.BytesIO(chunk.body), start=chunk.line):
        try:
            _load_libsvm(line, is_labeled)
        except _LIBSVM_ERRORS as error:
            return f"line {n}: {error}"
    return None


# --- CSV and TSV ----------------------------------------------------------------------


def _parse_by_pandas(
    chunk: TextChunk, separator: str, width: int, columns: list[int] | None
) -> NDArray[np.float64] | None:
    """The numbers of a table, (n_rows, n_columns).

    ``width`` is the number of columns in the text, of which ``columns`` are read; None:
    all. The result is None if pandas is not installed or finds an error; then
    `_parse_by_item` reads the text, which is slower and says what is wrong.
    """
    has_cr = b"\r" in chunk.body
    if has_cr and chunk.body.count(b"\r") != chunk.body.count(b"\r\n"):
        return None  # pandas loses empty columns after lines that end in \r
    try:
        import pandas
    except ImportError:
        return None
    try:
        frame = pandas.read_csv(
            io.BytesIO(chunk.body),
            sep=separator,
            header=None,
            usecols=columns,
            dtype=np.float64,
            quoting=csv.QUOTE_NONE,
            keep_default_na=False,
            na_values=_SPELLINGS,
            **optional.pandas_exact_floats(pandas),
        )
    except ValueError:
        return None
    # pandas fills short rows.
    n_separators = chunk.body.count(separator.encode())
    is_full = len(frame) == chunk.n_rows and n_separators == len(frame) * (width - 1)
    has_width = columns is not None or frame.shape[1] == width
    return frame.to_numpy() if is_full and has_width else None


def _parse_by_item(
    chunk: TextChunk,
    separator: str,
    width: int,
    ignored: Collection[int] = (),
) -> NDArray[np.float64]:
    """The numbers of a table, (n_rows, width); errors name the line.

    The values of ``ignored`` columns, which may hold text, are NaN.
    """
    values = array("d")
    text = io.TextIOWrapper(io.BytesIO(chunk.body), encoding="utf-8")
    for n, line in enumerate(text, start=chunk.line):
        line = line.strip(" \r\n")  # Tabs are columns, too.
        items = line.split(separator) if line else []
        if items and len(items) != width:
            raise _other_format(
                f"line {n} has {len(items)} columns, but lines above have {width}.",
                separator,
            )
        for j, item in enumerate(items):
            try:
                values.append(np.nan if j in ignored else _number(item))
            except ValueError:
                raise _other_format(
                    f"line {n}, column {j}: {item[:40]!r} is not a number."
                    f"{_HEADER_HINT if n == 1 else ''}",
                    separator,
                ) from None
    return np.array(values).reshape(-1, width)


def _other_format(reason: str, separator: str) -> ValueError:
    """The error "read as CSV: ..." with a reason; the format was guessed."""
    return ValueError(f"read as {'TSV' if separator == TAB else 'CSV'}: {reason}")


def _number(text: str) -> float:
    """The number in a text; NaN if it is a missing value."""
    text = text.strip()
    if text.lower() in _MISSING:
        return np.nan
    if "_" in text:
        raise ValueError(f"{text!r} is not a number")  # though it is one for Python
    return float(text)


_HEADER_HINT = (
    " If the first line of the data holds names, pass header=True in the params of a"
    " Dataset, or data_has_header=True to predict. Columns are separated by commas or"
    " tabs; missing values are empty, NA, NaN or null."
)
