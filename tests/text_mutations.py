"""Model files, changed at random: refused by a ValueError that names a line, or good.

Run as a script it tries mutations until one ends the process or fails, and names each
before it is tried: ``python text_mutations.py FIRST STOP``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import mutations
import numpy as np
from test_ensemble import frame

import skgoss
from skgoss.model import text
from skgoss.model.file_header import Header

FILES = Path(__file__).with_name("files")
DEEP = 100_000
# A mutation that needs more memory fails.
MEMORY = 3 << 30

Change = Callable[[bytes, np.random.Generator], bytes]

NUMBERS = (
    *(b"0", b"-0", b"1", b"-1", b"2", b"7", b"31", b"32", b"255", b"1.5", b"1e5"),
    *(b"2147483647", b"-2147483648", b"2147483648", b"4294967295", b"4294967296"),
    *(b"1000000000", b"1000000000000", b"9223372036854775807", b"9" * 19, b"9" * 5000),
    *(b"1e999", b"-1e999", b"1e-999", b"inf", b"-inf", b"nan", b"-nan", b"Infinity"),
    *(b"", b"-", b"+1", b".5", b"1.", b"1e", b"0x10", b"1_0", b"x", b"1,2", b"1=2"),
    *(b"1 2", b" ", b"\xff", b"\x00", "٣".encode(), b"null", b"[]", b"{}", b"true"),
)


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    """Rows with categories 3, 10, 17, ... and missing values, and a target."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(200, 4)), 2)
    X[:, 3] = 7 * rng.integers(0, 30, 200) + 3
    y = X[:, 0] * X[:, 1] + (X[:, 3] % 3)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@cache
def files() -> list[bytes]:
    """Files of ours, of each kind, and of old versions of LightGBM."""
    X, y = data()
    small = {"n_estimators": 2, "num_leaves": 5, "min_child_samples": 5}
    category = small | {"categorical_feature": [3], "min_data_per_group": 5}
    words = X.astype(object)
    words[:, 3] = np.where(np.isnan(X[:, 3]), "none", X[:, 3].astype(str))
    forest = small | {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}
    models = [
        skgoss.LGBMRegressor(**small).fit(X, y, feature_name=["a b", "", "ä", "d"]),
        skgoss.LGBMRegressor(**category).fit(X, y),
        skgoss.LGBMRegressor(linear_tree=True, **category).fit(X, y),
        skgoss.LGBMRegressor(**forest).fit(X, y),
        skgoss.LGBMClassifier(**category).fit(words, np.digitize(y, [0, 1])),
    ]
    old = [path.read_bytes() for path in sorted(FILES.glob("*.txt"))]
    return [written(model).encode() for model in models] + old


def written(model: skgoss.LGBMModel) -> str:
    """The file of an estimator."""
    header = Header(
        model.feature_name_,
        ["[-3:3]", "[-3:3]", "none", "-1:0:1:2"],
        "regression",
        [1, 0, 0, -1],
        {"num_leaves": "5", "learning_rate": "0.1"},
        own={"deep": [{"er": [1, "ä", None]}]},
    )
    return text.write(model._model.trees, header, categories=model._categories)


# --- Changes --------------------------------------------------------------------------


def flipped(file: bytes, rng: np.random.Generator) -> bytes:
    """Other bytes in one to three places."""
    changed = bytearray(file)
    for at in rng.integers(len(file), size=rng.integers(1, 4)):
        changed[at] = rng.choice([rng.integers(256), *b' =\n0-:[]{}",.'])
    return bytes(changed)


def cut(file: bytes, rng: np.random.Generator) -> bytes:
    """The beginning, the end, or all but some bytes in the middle."""
    first, last = sorted(rng.integers(len(file) + 1, size=2))
    kept = [file[:first], file[first:], file[:first] + file[last:]]
    return kept[rng.integers(3)]


def with_lines(file: bytes, rng: np.random.Generator) -> bytes:
    """A line that is absent, twice there, or in another place."""
    lines = file.split(b"\n")
    first, second = rng.integers(len(lines), size=2)
    kind = rng.integers(4)
    if kind == 0:
        del lines[first]
    elif kind == 1:
        lines.insert(second, lines[first])
    elif kind == 2:
        lines[first], lines[second] = lines[second], lines[first]
    else:
        lines[min(first, second) : max(first, second)] = []
    return b"\n".join(lines)


def renumbered(file: bytes, rng: np.random.Generator) -> bytes:
    """Odd numbers in place of one to three numbers."""
    for _ in range(rng.integers(1, 4)):
        places = list(re.finditer(rb"-?[0-9][0-9.e+-]*", file))
        if not places:
            return file
        place = places[rng.integers(len(places))]
        number = NUMBERS[rng.integers(len(NUMBERS))]
        file = file[: place.start()] + number + file[place.end() :]
    return file


def refilled(file: bytes, rng: np.random.Generator) -> bytes:
    """A line with other numbers: repeated ones, or those of another line."""
    lines = file.split(b"\n")
    places = [at for at, line in enumerate(lines) if b"=" in line]
    if not places:
        return file
    first, second = rng.choice(places, size=2)
    key, value = lines[first].split(b"=", 1)
    other = lines[second].split(b"=", 1)[1]
    number = NUMBERS[rng.integers(len(NUMBERS))]
    count = value.count(b" ") + 1
    values = [other, b"", b" ".join([number] * count), value + b" " + number]
    lines[first] = key + b"=" + values[rng.integers(4)]
    return b"\n".join(lines)


def nested(file: bytes, rng: np.random.Generator) -> bytes:
    """JSON as deep as the stack is not, or of other types."""
    deep = [
        b"[" * DEEP,
        b"[" * DEEP + b"]" * DEEP,
        b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    ]
    deep += [b"[" * 500 + b"]" * 500, *NUMBERS]
    part = deep[rng.integers(len(deep))]
    marks = [rb'"model": ', rb'"names": ', rb'"values": ', rb'"3": ', rb"\[skgoss: \]:"]
    mark = [*marks, rb"pandas_categorical:"][rng.integers(6)]
    return re.sub(rb"(%s)\S*" % mark, lambda match: match[1] + part, file)


def spliced(file: bytes, rng: np.random.Generator) -> bytes:
    """The beginning of a file and the end of another."""
    other = files()[rng.integers(len(files()))]
    return file[: rng.integers(len(file) + 1)] + other[rng.integers(len(other)) :]


CHANGES: tuple[Change, ...] = (
    *(flipped, cut, with_lines, with_lines, renumbered, renumbered),
    *(refilled, nested, spliced),
)


# --- Trying ---------------------------------------------------------------------------


def use(file: bytes) -> None:
    """Predict, and write the model again; raises ValueError if it cannot be read."""
    ensemble, header = text.read(file)
    X = np.resize(data()[0], (40, ensemble.n_features))
    X[::7], X[1::7] = -np.inf, -0.5
    scores = ensemble.raw_scores(frame(X))
    assert scores.shape == (40, ensemble.n_scores)
    assert ensemble.leaves(frame(X)).shape == (40, ensemble.n_trees)
    again, other = text.read(text.write(ensemble, header))
    np.testing.assert_array_equal(again.raw_scores(frame(X)), scores)
    said = [json.dumps(vars(part), sort_keys=True) for part in (header, other)]
    assert said[0] == said[1]


def is_refused(number: int) -> bool:
    """Whether a mutation is refused; one that is not must serve."""
    rng = np.random.default_rng(number)
    file = files()[number % len(files())]
    names = []
    for _ in range(1 + int(rng.random() < 0.2)):
        change = CHANGES[rng.integers(len(CHANGES))]
        file = change(file, rng)
        names.append(change.__name__)
    print(number, *names, flush=True)
    try:
        use(file)
    except ValueError as error:
        if not re.match(r"line \d+: ", str(error)):
            raise AssertionError("the message must begin with a line") from error
        return True
    return False


if __name__ == "__main__":
    files()
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    mutations.main(is_refused)
