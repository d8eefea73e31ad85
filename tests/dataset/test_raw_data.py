"""Raw data of a data set: kept, freed and read when they are needed."""

import numpy as np
import pytest
from scipy import sparse

from helpers.data_sets import N, made
from skgoss import Dataset


def test_data_are_read_when_they_are_needed(builds):
    data = Dataset([["a", "b"]], [1.0])
    with pytest.raises(ValueError, match="could not convert string"):
        data.construct()
    data = Dataset(*made())
    assert (data.num_data(), data.num_feature()) == (N, 4)
    assert not builds
    assert data.construct() is data
    data.construct()
    assert len(builds) == 1
    assert (data.num_data(), data.num_feature()) == (N, 4)


def test_data_must_be_there():
    with pytest.raises(TypeError, match="data must not be None"):
        Dataset(None).construct()


def test_freed_and_kept_data():
    X, y = made()
    data = Dataset(X, y)
    assert data.get_data() is X
    with pytest.raises(ValueError, match=r"cannot return its data: .* free_raw_data"):
        data.construct().get_data()
    assert Dataset(X, y, free_raw_data=False).construct().get_data() is X


@pytest.mark.parametrize("container", ["list", "pandas", "polars", "arrow", "csr"])
def test_get_data_of_containers(container):
    X, y = made(10)
    if container == "list":
        given = X.tolist()
    elif container == "csr":
        given = sparse.csc_matrix(X)
    else:
        module = {"arrow": "pyarrow"}.get(container, container)
        library = pytest.importorskip(module)
        columns = {name: X[:, j] for j, name in enumerate("abcd")}
        given = {
            "pandas": lambda: library.DataFrame(columns, index=range(5, 15)),
            "polars": lambda: library.DataFrame(columns),
            "arrow": lambda: library.table(columns),
        }[container]()
    part = Dataset(given, y, free_raw_data=False).subset([1, 4])
    found = part.get_data()
    if container != "list":
        assert (
            type(found).__module__.split(".")[0] == type(given).__module__.split(".")[0]
        )
    rows = found.toarray() if container == "csr" else np.asarray(found)
    np.testing.assert_array_equal(rows, X[[1, 4]])
