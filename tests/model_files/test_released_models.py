"""What released versions have written is read, and predicts what it did then."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import skgoss
from helpers import released_models
from helpers.released_models import ESTIMATORS, FILES

VERSIONS = sorted(path.name for path in FILES.glob("skgoss-*"))
SAVED = [
    f"{version}/{path.name}"
    for version in VERSIONS
    for path in sorted((FILES / version).glob("*.*.*"))
]


def expected(version):
    """The stored arrays of a version, and the rows of its models."""
    with np.load(FILES / version / "expected.npz") as file:
        stored = dict(file)
    words = stored["rows/numbers"].astype(object)
    towns = stored["rows/towns"]
    words[:, 3] = np.where(towns == "None", None, towns)
    rows = released_models.Rows(stored["rows/numbers"], words, stored["rows/y"])
    return stored, rows


def load(path):
    """The estimator of a file, whose name says the class."""
    kind = ESTIMATORS[path.name.split(".")[1]]
    if path.suffix == ".txt":
        return kind.from_file(path)
    skops = pytest.importorskip("skops.io")
    # Files keep the names that classes had when they were written.
    return skops.load(path, trusted=skops.get_untrusted_types(file=path))


@pytest.mark.parametrize("saved", SAVED)
def test_models_of_released_versions_predict_the_same(saved):
    version, _, file = saved.partition("/")
    stored, rows = expected(version)
    name = file.partition(".")[0]
    model = load(FILES / version / file)
    found = released_models.predictions(model, name, rows)
    assert len(found) >= 3
    for way, values in found.items():
        assert_array_equal(values, stored[way], strict=True, err_msg=way)


@pytest.mark.parametrize("version", VERSIONS)
def test_data_sets_of_released_versions_are_read(version):
    stored, rows = expected(version)
    data = skgoss.Dataset(FILES / version / "dataset.bin").construct()
    for name, values in released_models.fields(data).items():
        assert_array_equal(values, stored[name], strict=True, err_msg=name)
    assert data.num_data() == len(rows.y)
    assert data.get_feature_name() == list("abcde")
    with pytest.warns(UserWarning, match="position has no effect"):
        assert skgoss.train({"num_leaves": 4}, data, 2).num_trees() == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_every_kind_is_stored(version):
    stored, _ = expected(version)
    names = {path.name.partition(".")[0] for path in (FILES / version).glob("*.*.txt")}
    assert {way.partition("/")[0] for way in stored} == {*names, "rows", "dataset"}
    assert len(names) >= 20
