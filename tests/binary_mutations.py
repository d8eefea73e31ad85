"""Files of binned data, changed at random: refused by a ValueError, or good to train.

Run as a script it tries mutations until one ends the process or fails, and names each
before it is tried: ``python binary_mutations.py FIRST STOP``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import booster_mutations
import mutations
import numpy as np
import text_mutations
from binned import bins, build
from booster_mutations import one_of

from skgoss import LGBMRegressor
from skgoss.data import binary, binned_state
from skgoss.data.categories import Categories
from skgoss.data.dataset import BinnedDataset
from skgoss.data.frames import columns
from skgoss.model import text
from skgoss.model.ensemble import Ensemble
from skgoss.model.file_header import Header
from skgoss.parameters import settings as parameters
from skgoss.training import boosting, loop, objectives

MIXED, SPARSE, LISTED, WORDS = range(4)


def trained(data: BinnedDataset, **options: Any) -> Ensemble:
    """Trees for a target of noise."""
    small = {"n_estimators": 2, "num_leaves": 6, "min_child_samples": 2}
    small |= {"objective": "regression", "min_data_per_group": 2, "cat_smooth": 1.0}
    settings = parameters.settings(small | options, "LGBMRegressor")
    y = np.random.default_rng(0).normal(size=data.n_rows)
    objective = objectives.make(settings, y, None, None)
    return loop.train(boosting.Boosting(data, objective, settings, 1)).ensemble


def words(n_rows: int) -> tuple[BinnedDataset, Categories]:
    """Columns of numbers and of categories."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 4)).astype(object)
    X[:, 1] = rng.choice(["a", "b", "c", None], n_rows)
    X[:, 3] = rng.choice([*map(str, range(40))], n_rows)
    estimator = LGBMRegressor(min_child_samples=1)
    found = columns(estimator, X, reset=True, categorical_feature=[1, 3])
    data = BinnedDataset.build(
        found, parameters.settings(estimator.get_params(), "LGBMRegressor")
    )
    return data, estimator._categories


@cache
def tables() -> list[np.ndarray]:
    """Dense and missing values; many columns of mostly zeros; few such columns."""
    rng = np.random.default_rng(0)
    mixed = np.round(rng.normal(size=(700, 6)), 3)
    mixed[:, 1] = np.round(mixed[:, 1])
    mixed[rng.random(mixed.shape) < 0.1] = np.nan
    mixed[:, 2] = 7.0
    sparse = np.where(rng.random((150, 260)) < 0.1, rng.integers(1, 9, (150, 260)), 0)
    sparse[:, :3] = rng.normal(size=(150, 3)) * 9
    listed = np.where(rng.random((5000, 3)) < 0.01, rng.normal(size=(5000, 3)), 0)
    return [mixed, sparse.astype(float), listed]


@cache
def parts() -> list[binary.Parts]:
    """What files hold."""
    data = [build(X, max_bin=1000, min_data_in_bin=1) for X in tables()]
    binned, categories = words(200)
    found = []
    for number, one in enumerate([*data, binned]):
        fields = {
            "label": np.arange(one.n_rows) / 8,
            "names": list("abc"),
            "weight": None,
            "is_odd": np.arange(one.n_rows) % 2 > 0,
            "categories": None if number < WORDS else categories.__getstate__(),
        }
        fields = {} if number == LISTED else fields
        found.append({"data": binned_state.state(one), "fields": fields})
    return found


def file_of(number: int, changed: binary.Parts) -> bytes:
    """The file of changed parts, as long as it must be without the change."""
    file = b"".join(map(bytes, binary.content(changed)))
    least = binned_state.claim(parts()[number]["data"])
    return file.ljust(least, b"\0")


@cache
def files() -> list[bytes]:
    """Good files."""
    return [file_of(number, part) for number, part in enumerate(parts())]


# --- Changes --------------------------------------------------------------------------


def of_parts(number: int, rng: np.random.Generator) -> bytes:
    """Other arrays, numbers or fields, in a file that is whole."""
    changed = {part: dict(values) for part, values in parts()[number].items()}
    changed["fields"] = dict(changed["fields"])
    for _ in range(rng.integers(1, 4)):
        part = "data" if rng.random() < 0.8 else "fields"
        names = list(changed[part]) or ["label"]
        name, other = one_of(names, rng), one_of(names, rng)
        kind = rng.choice(
            ["absent", "swapped", "near", "changed"], p=[0.1, 0.1, 0.4, 0.4]
        )
        value = changed[part].get(name)
        if kind == "absent":
            changed[part].pop(name, None)
        elif kind == "swapped":
            changed[part][name] = changed[part].get(other)
            changed[part][other] = value
        elif kind == "near" and np.ndim(value) == 1 and np.size(value):
            changed[part][name] = near(value, rng)
        else:
            changed[part][name] = mutations.changed(value, rng)
    try:
        return file_of(number, changed)
    except TypeError:
        # Values that no file can hold.
        return of_parts(number, rng)


def near(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Values that are one more or less, or those of another place."""
    values = np.array(values)
    at = rng.integers(values.size, size=rng.choice([1, 2, 50]))
    if values.dtype.kind in "iu" and rng.random() < 0.7:
        values[at] += rng.integers(-2, 3, len(at)).astype(values.dtype)
    else:
        values[at] = values[rng.integers(values.size, size=len(at))]
    return values


def of_header(number: int, rng: np.random.Generator) -> bytes:
    """Another value in the header."""
    first, header, rest = files()[number].split(b"\n", 2)
    told = json.loads(header)
    *path, last = one_of(list(mutations.places(told)), rng)
    owner = told
    for key in path:
        owner = owner[key]
    kind = rng.choice(["absent", "near", "odd", "dtype", "size"])
    if kind == "absent":
        del owner[last]
    elif kind == "near" and isinstance(owner[last], int):
        owner[last] += int(rng.integers(-3, 4))
    elif kind == "dtype":
        told["arrays"][rng.integers(len(told["arrays"]))]["dtype"] = one_of(
            ["<f8", "|u1", "|b1", "<u2", "<i8", "<f2", "|O", "<U9", "<f16", "f8,i4"],
            rng,
        )
    elif kind == "size":
        shape = [int(n) for n in rng.choice([0, 1, 2, 150, 700, 2**31, 2**62], 2)]
        told["arrays"][rng.integers(len(told["arrays"]))]["shape"] = shape
    else:
        owner[last] = one_of(booster_mutations.ODD, rng)
    return b"\n".join([first, json.dumps(told).encode(), rest])


def of_bytes(number: int, rng: np.random.Generator) -> bytes:
    """Other bytes, fewer or more."""
    file = files()[number]
    kind = rng.choice(["bytes", "spliced", "longer"], p=[0.8, 0.1, 0.1])
    if kind == "bytes":
        changes = [
            text_mutations.flipped,
            text_mutations.cut,
            text_mutations.renumbered,
        ]
        return one_of(changes, rng)(file, rng)
    other = one_of(files(), rng)
    if kind == "spliced":
        return file[: rng.integers(len(file) + 1)] + other[rng.integers(len(other)) :]
    return file + bytes(int(rng.integers(1, 5000)))


CHANGES = (*[of_parts] * 4, of_header, of_bytes)


# --- Trying ---------------------------------------------------------------------------


def use(data: BinnedDataset, fields: dict[str, Any]) -> None:
    """Train, and ask for all else that reads the bins."""
    ensemble = trained(data)
    names = [f"x{j}" for j in range(data.n_features)]
    header = Header(names, data.feature_infos(), "regression")
    again, _ = text.read(text.write(ensemble, header))
    assert again.n_trees == ensemble.n_trees
    twice = data.joined(data, LGBMRegressor())
    for found in (bins(data), bins(twice)):
        assert (found.max(axis=1, initial=0) < 65535).all()
    trained(twice)
    assert all(isinstance(name, str) for name in fields)


def is_refused(number: int, path: Path) -> bool:
    """Whether a mutation is refused; one that is not must serve."""
    rng = np.random.default_rng(number)
    change = one_of(CHANGES, rng)
    which = int(rng.integers(len(files())))
    path.write_bytes(change(which, rng))
    print(number, change.__name__, which, flush=True)
    try:
        data, fields = binary.read(path)
        known = fields.get("categories")
        categories = Categories.__new__(Categories)
        categories.__setstate__(known or Categories(None).__getstate__())
        binned_state.check_categories(data, categories)
    except ValueError:
        return True
    use(data, fields)
    return False


if __name__ == "__main__":
    files()
    if sys.platform == "linux":
        import resource

        resource.setrlimit(
            resource.RLIMIT_AS, (text_mutations.MEMORY, text_mutations.MEMORY)
        )
    with tempfile.TemporaryDirectory() as folder:
        mutations.main(partial(is_refused, path=Path(folder) / "train.bin"))
