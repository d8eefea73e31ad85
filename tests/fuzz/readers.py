"""Coverage-guided fuzzing of what reads files and states, by atheris (libFuzzer).

``python -m fuzz.readers READER [options of libFuzzer] [folders]`` in `tests`: a reader
gets bytes that reach new lines of its code. It may refuse them by a ValueError; what it
accepts must serve. The readers are the keys of `READERS`. Without folders, it begins
with `tests/fuzz/corpus`, and new bytes are kept nowhere. The tests read the corpus
without atheris. ``python -m fuzz.readers seeds`` writes the files ``seed-*`` of it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

IS_SCRIPT = __name__ == "__main__"
CORPUS = Path(__file__).with_name("corpus")

if IS_SCRIPT and sys.argv[1:] != ["seeds"]:
    import atheris

# Only code that is imported here is followed.
followed = "atheris" in globals()
with atheris.instrument_imports(include=["skgoss"]) if followed else nullcontext():
    import numpy as np
    from numpy.testing import assert_array_equal
    from scipy import sparse

    import skgoss
    from helpers import mutations
    from skgoss.model_files import text_reader
    from skgoss.sources import text_files, text_tables
    from skgoss.utils import plain_values

ESTIMATORS = {
    kind.__name__: kind
    for kind in (skgoss.LGBMRegressor, skgoss.LGBMClassifier, skgoss.LGBMRanker)
}
HEADER = text_files.FileOptions(header=True)


class Reader(NamedTuple):
    """What reads bytes.

    Attributes
    ----------
    read : callable
        From bytes to what serves; or it raises ValueError.
    use : callable
        Uses what was read, which must serve.
    seeds : callable
        Returns good bytes, as a list.
    """

    read: Callable[[bytes], Any]
    use: Callable[[Any], None]
    seeds: Callable[[], list[bytes]]


# --- Readers --------------------------------------------------------------------------


def by_path(read: Callable[[Path], Any], file: bytes) -> Any:
    """What a reader of files reads."""
    path = Path(FOLDER.name, "read")
    path.write_bytes(file)
    return read(path)


def read_bins(path: Path) -> Any:
    """A data set of a file of bins.

    Text is left to its readers: a dozen bytes of it may ask for a billion columns,
    which is not an error, but needs more memory than a fuzzer is given.
    """
    if not mutations.binary_files.is_binary(path):
        raise ValueError("no file of bins")
    return mutations.KINDS["dataset"].load(path)


def read_state(file: bytes) -> Any:
    """The estimator of a state that is written as JSON, and rows for it."""
    try:
        written = json.loads(file)
    except RecursionError as error:
        raise ValueError("too deep") from error
    found = plain_values.decode(written, "the state")
    name, state = plain_values.entries(
        found, {"class": str, "state": object}, "the state"
    )
    if name not in ESTIMATORS:
        raise ValueError(f"{name!r} is not an estimator")
    loaded = ESTIMATORS[name].__new__(ESTIMATORS[name])
    loaded.__setstate__(state)
    return loaded, mutations.data()[0]


def use_state(loaded: Any) -> None:
    """Ask an estimator for all that reads its state."""
    model = loaded[0]
    if hasattr(model, "fitted_") and model._model.categories.columns:
        return  # the rows have other categories
    mutations.use_estimator(loaded)


class Table(NamedTuple):
    """A table of text, which is read in batches, and all of its rows."""

    text: text_files.TextData
    rows: Any


def read_either(file: bytes) -> Table:
    """Rows in text, with a header if the first byte says so."""
    options = HEADER if file[:1] == b"#" else None

    def read(path: Path) -> Table:
        text = text_files.read(path, options)
        return Table(text, text.data.loaded())

    return by_path(read, file.removeprefix(b"#"))


def use_rows(read: Table) -> None:
    """Rows and labels agree; NumPy reads what pandas has read."""
    rows, data = read
    n_rows = rows.data.shape[0]
    assert n_rows > 0
    assert rows.label is None or rows.label.shape == (n_rows,)
    assert rows.group is None or rows.group.sum() == n_rows
    assert data.shape == rows.data.shape
    if sparse.issparse(data):
        data.check_format()
        return
    (table,) = rows.data.tables
    parts = [
        text_tables._parse_by_item(block, table.separator, table.width)
        for block in table
    ]
    assert_array_equal(np.concatenate(parts)[:, 1:], data)


# --- Seeds ----------------------------------------------------------------------------


def states() -> list[bytes]:
    """The states of small models."""
    found = []
    for model, _ in mutations.models():
        if type(model).__name__ in ESTIMATORS and len(model._model.trees.trees) < 20:
            state = {"class": type(model).__name__, "state": model.__getstate__()}
            found.append(json.dumps(plain_values.encode(state)).encode())
    return [state for state in found if len(state) < 20_000]


def small_binary() -> list[bytes]:
    """The files of few rows."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(20, 3)), 1)
    X[:, 1] = X[:, 1] > 0.5
    few = {"max_bin": 7, "min_data_in_bin": 1}
    data = [
        skgoss.Dataset(X, X[:, 0], params=few),
        skgoss.Dataset(
            *(X, X[:, 0], None, X[:, 0] ** 2, [15, 5]),
            categorical_feature=[1],
            feature_name=list("abc"),
            params=few,
        ),
    ]
    files = []
    for one in data:
        path = Path(FOLDER.name, "seed")
        one.save_binary(path)
        files.append(path.read_bytes())
    return files


CSV = [
    b"1,2.5,3\n0,,nan\n1,0.5,-1e-3\n",
    b"1\t2.5\tNA\r\n0\t1.5\tnull\r\n",
    b'#y,"a",b\n1,2,3\n0,2,5\n',
    b"1, 7 ,inf\n\n0,+.5,1e400",
]
LIBSVM = [
    b"1 0:2.5 2:3\n0 1:1.5\n1 0:1 1:2 2:3\n",
    b"1 qid:1 0:2.5 # first\n0 qid:1 1:1e-5\n2 qid:3 5:-1\n",
    b"0:1 3:2\n1:5\n",
]


def boosters() -> list[bytes]:
    """The texts of small models."""
    small = [file for file in mutations.booster_files() if len(file) < 12_000]
    return [file.encode() for file in small]


READERS = {
    "text": Reader(
        text_reader.read,
        mutations.use_text,
        lambda: [file for file in mutations.text_files() if len(file) < 12_000],
    ),
    "booster": Reader(
        partial(by_path, mutations.KINDS["booster"].load),
        mutations.use_booster,
        boosters,
    ),
    "binary": Reader(
        partial(by_path, mutations.load_binary), mutations.use_binary, small_binary
    ),
    "dataset": Reader(partial(by_path, read_bins), mutations.use_dataset, small_binary),
    "state": Reader(read_state, use_state, states),
    "csv": Reader(read_either, use_rows, lambda: CSV),
    "libsvm": Reader(read_either, use_rows, lambda: LIBSVM),
}


# --- Fuzzing --------------------------------------------------------------------------


def try_one(reader: Reader, file: bytes) -> bool:
    """Whether bytes are read; what was read must serve."""
    try:
        found = reader.read(file)
    except ValueError:
        return False
    reader.use(found)
    return True


def change_archive(file: bytes, max_size: int, seed: int) -> bytes:
    """Change one member of an archive, with the checksum that belongs to it.

    Without this, nearly all that libFuzzer tries would be refused for its checksum.
    """
    rng = np.random.default_rng(seed)
    try:
        members = mutations.members_of(file)
    except (ValueError, OSError, *mutations.binary_files._DAMAGE):
        members = []
    sized = [at for at, (_, content) in enumerate(members) if content]
    if not sized or rng.random() < 0.1:
        return atheris.Mutate(file, max_size)
    at = rng.choice(sized)
    name, content = members[at]
    changed = atheris.Mutate(content, len(content) + int(rng.integers(0, 2) * 64))
    members[at] = (name, changed)
    try:
        return mutations.archive_of(members)
    except (ValueError, zipfile.BadZipFile):
        return file


def change_state(file: bytes, max_size: int, seed: int) -> bytes:
    """Change one value of a state; or bytes, of which few changes leave it JSON."""
    rng = np.random.default_rng(seed)
    if rng.random() < 0.2:
        return atheris.Mutate(file, max_size)
    try:
        state = json.loads(file)
        mutations.change_state(state, mutations.JSON, rng)
        changed = json.dumps(state).encode()
    except (ValueError, TypeError, LookupError, RecursionError):
        return atheris.Mutate(file, max_size)
    return changed if len(changed) <= max_size else file


MUTATORS = {"binary": change_archive, "dataset": change_archive, "state": change_state}


def write_seeds() -> None:
    """Write the files that fuzzing begins with."""
    for name, reader in READERS.items():
        folder = CORPUS / name
        folder.mkdir(parents=True, exist_ok=True)
        for number, file in enumerate(reader.seeds()):
            assert try_one(reader, file), (name, number)
            (folder / f"seed-{number}").write_bytes(file)


def main(name: str, *options: str) -> None:
    """Fuzz a reader."""
    reader = READERS[name]
    folders = [option for option in options if not option.startswith("-")]
    given = options if folders else (*options, str(CORPUS / name))
    limits = ("-timeout=30", "-rss_limit_mb=3000", "-max_len=16384")
    mutator = {"custom_mutator": MUTATORS[name]} if name in MUTATORS else {}
    atheris.Setup(
        [sys.argv[0], *limits, *given], lambda file: try_one(reader, file), **mutator
    )
    atheris.Fuzz()


FOLDER = tempfile.TemporaryDirectory(
    dir="/dev/shm" if os.path.isdir("/dev/shm") else None
)

if IS_SCRIPT:
    warnings.simplefilter("ignore")
    write_seeds() if sys.argv[1:] == ["seeds"] else main(*sys.argv[1:])
