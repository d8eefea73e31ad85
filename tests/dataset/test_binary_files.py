"""Binned data that is kept in files, or put side by side: the same bins and trees."""

from __future__ import annotations

import io

import numpy as np
import pytest

from helpers import mutations
from helpers.binned import (
    bins,
    build,
    expected_places,
    places_of_rows,
    table,
    trained,
    with_categories,
)
from helpers.changed_states import changed, replaced
from helpers.mutations import MIXED, WORDS
from helpers.reading import columns
from skgoss import LGBMRegressor, parameters
from skgoss.binning import binned_state
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.storage import Bins
from skgoss.columns.categories import Categories
from skgoss.dataset import binary_files


def assert_same(one: BinnedDataset, other: BinnedDataset) -> None:
    """Mappers, bins and trees are the same."""
    assert (one.n_rows, one.n_features) == (other.n_rows, other.n_features)
    for first, second in zip(one.mappers, other.mappers, strict=True):
        for value, same in zip(first, second, strict=True):
            assert type(value) is type(same)
            np.testing.assert_array_equal(value, same)
    np.testing.assert_array_equal(one.feature, other.feature)
    np.testing.assert_array_equal(bins(one), bins(other))
    first, second = trained(one), trained(other)
    for name, values in first.arrays.items():
        np.testing.assert_array_equal(values, second.arrays[name])
    for values, same in zip(first.sets, second.sets, strict=True):
        np.testing.assert_array_equal(values, same)


def constant(n_rows: int) -> np.ndarray:
    """Columns that cannot be split."""
    return np.tile([0.0, 3.0, np.nan], (n_rows, 1))


def with_infinities(n_rows: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    return rng.choice([-np.inf, -1.5, -0.0, 0.0, 2.0, np.inf, np.nan], (n_rows, 3))


DATA = {
    "dense": lambda: build(np.random.default_rng(0).normal(size=(300, 4))),
    "wide": lambda: build(table(5000), max_bin=1000),
    "few rows": lambda: build(table(300)),
    "bundled": lambda: build(table(5000), is_enable_sparse=False),
    "listed": lambda: build(table(5000), enable_bundle=False),
    "plain": lambda: build(table(1000), enable_bundle=False, is_enable_sparse=False),
    "conflicts": lambda: build(table(5000), max_conflict_rate=0.05),
    "zeros are missing": lambda: build(table(5000), zero_as_missing=True),
    "nothing is missing": lambda: build(table(5000), use_missing=False),
    "some rows": lambda: build(table(5000), rows=np.arange(100, 4900, dtype=np.int64)),
    "one-hot": lambda: build(np.eye(300)[np.arange(900) % 300]),
    "constant": lambda: build(constant(50)),
    "infinite": lambda: build(with_infinities(200)),
    "one row": lambda: build(np.ones((1, 2))),
    "categories": lambda: with_categories(200)[0],
    "categories, many rows": lambda: with_categories(5000)[0],
}


# --- Round trips ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", DATA)
def test_what_is_read_is_the_same(kind, tmp_path):
    data = DATA[kind]()
    binary_files.write(tmp_path / "train.bin", data, {})
    read, fields = binary_files.read(tmp_path / "train.bin", n_threads=2)
    assert fields == {}
    assert_same(data, read)
    assert places_of_rows(read) == expected_places(read)
    # A state of what was restored is the same again.
    for name, values in binned_state.state(data).items():
        np.testing.assert_array_equal(values, binned_state.state(read)[name])


def test_fields_come_back(tmp_path):
    data, categories = with_categories(200)
    fields = {
        "label": np.arange(200.0),
        "weight": None,
        "group": np.array([150, 50]),
        "position": np.arange(200, dtype=np.uint16),
        "init_score": np.arange(400.0).reshape(2, 200),
        "transposed": np.arange(6, dtype=np.float32).reshape(2, 3).T,
        "big-endian": np.arange(3, dtype=">i4"),
        "is_odd": np.arange(200) % 2 > 0,
        "empty": np.empty((0, 3)),
        "scalar": np.array(3.5),
        "names": ["ä", 'b"\n', "\ud800"],
        "objects": np.array([1, "a", None], dtype=object),
        "categories": categories.__getstate__(),
        "params": {"max_bin": 255, "categorical_feature": [1, 3], "forced": (1.5, {2})},
    }
    binary_files.write(tmp_path / "train.bin", data, fields)
    _, read = binary_files.read(tmp_path / "train.bin")
    assert read.keys() == fields.keys()
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            assert read[name].dtype == value.dtype.newbyteorder("=")
            assert read[name].shape == value.shape
            np.testing.assert_array_equal(read[name], value)
        else:
            assert read[name] == value
    again = Categories.__new__(Categories)
    again.__setstate__(read["categories"])
    binned_state.check_categories(data, again)


def test_a_field_that_cannot_be_written_changes_no_file(tmp_path):
    path = tmp_path / "train.bin"
    path.write_text("mine")
    with pytest.raises(TypeError, match="params cannot be written: values of type ob"):
        binary_files.write(path, DATA["dense"](), {"params": {"a": object()}})
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_conflicts_of_bundles_stay_lost():
    lossy = DATA["conflicts"]()
    n_listed = [
        len(Bins.from_store(data.storage.store).sparse.rows)
        for data in (lossy, build(table(5000)))
    ]
    assert n_listed[0] < n_listed[1]
    for j in np.flatnonzero(lossy.storage.default_bin >= 0):
        rows = Bins.from_store(lossy.storage.store).sparse
        start = rows.start[np.searchsorted(rows.number, [j, j + 1])]
        np.testing.assert_array_equal(
            np.flatnonzero(lossy.bins(j) != lossy.storage.default_bin[j]),
            rows.rows[slice(*start)],
        )


# --- Side by side ---------------------------------------------------------------------


@pytest.mark.parametrize("n_rows", [300, 5000])
@pytest.mark.parametrize("enable_bundle", [True, False])
@pytest.mark.parametrize("cut", [12, 60])
def test_joined_columns_are_as_if_built_together(n_rows, enable_bundle, cut):
    X = table(n_rows)
    changes = {"max_bin": 400, "enable_bundle": enable_bundle}
    whole = build(X, **changes)
    one, other = build(X[:, :cut], **changes), build(X[:, cut:], **changes)
    settings = LGBMRegressor(enable_bundle=enable_bundle)
    joined = one.joined(other, settings, n_threads=2)
    assert_same(whole, joined)
    assert places_of_rows(joined) == expected_places(joined)


@pytest.mark.parametrize("first", ["constant", "one row", "categories", "conflicts"])
def test_joined_columns_of_other_kinds(first):
    one = DATA[first]()
    rng = np.random.default_rng(0)
    other = build(rng.normal(size=(one.n_rows, 2)), min_data_in_bin=1)
    settings = LGBMRegressor(is_enable_sparse=False, max_conflict_rate=0.5)
    for left, right in ((one, other), (other, one)):
        data = left.joined(right, settings)
        assert data.mappers == left.mappers + right.mappers
        np.testing.assert_array_equal(
            data.feature, [*left.feature, *(right.feature + left.n_features)]
        )
        np.testing.assert_array_equal(bins(data), np.vstack([bins(left), bins(right)]))
        trained(data)


def test_joined_columns_need_the_same_rows():
    one, other = (build(np.arange(float(n))[:, None]) for n in (40, 50))
    with pytest.raises(ValueError, match="the first has 40, the other 50"):
        one.joined(other, LGBMRegressor())


# --- Other files ----------------------------------------------------------------------


def good_file() -> bytes:
    return mutations.good_binary_files()[MIXED]


def header(content: bytes) -> bytes:
    """A file that holds JSON alone."""
    return mutations.archive_of([("skgoss.json", content)])


def npy(length: int, dtype: str = "|u1") -> bytes:
    """What stands before an array."""
    described = {"descr": dtype, "fortran_order": False, "shape": (length,)}
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue()


def member(name: str, content: bytes, *, compressed: bool = False) -> bytes:
    """A good file with another member."""
    members = dict(mutations.members_of(good_file())) | {name: content}
    return mutations.archive_of([*members.items()], name if compressed else "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"1,2,3\n4,5,6\n", "no binned data of skgoss"),
        (b"\0" * 5000, "no binned data of skgoss"),
        (
            b"______LightGBM_Binary_File_Token______\n\0\1",
            "data of LightGBM, which only",
        ),
        (b"PK\3\4", "or is cut off"),
        (good_file()[:35], "or is cut off"),
        (good_file()[:-1000], "or is cut off"),
        (good_file() + b"\0", "or is cut off"),
        (mutations.archive_of([("a.npy", b"")]), "no binned data of skgoss"),
        (header(b"[]"), "skgoss.json must be a dict"),
        (header(b'{"version": 2}'), "another version of skgoss"),
        (
            header(
                b'{"version": 1, "data": {}, "fields":'
                b' {"type": "builtins.dict", "keys": [1], "values": [2]}}'
            ),
            "names that are strings",
        ),
        (header(b"[" * 10**5), "cannot be read"),
        (
            member("data/bytes.npy", b"ab"),
            "data/bytes.npy does not begin like an array",
        ),
        (
            member("data/bytes.npy", b"ab" * 99),
            "data/bytes.npy does not begin like an arr",
        ),
        (member("data/n_rows.npy", npy(0)), "must have no member 'data/n_rows.npy'"),
        (member("other/x.npy", npy(0)), "must have no member 'other/x.npy'"),
        (member("data/x.npy", npy(0, "<f16")), "the dtype '<f16', which is not known"),
        (member("data/x.npy", npy(0, "|O")), r"the dtype '\|O', which is not known"),
        (member("data/x.npy", npy(99)), r"the shape \[99\], which is impossible"),
        (member("data/x.npy", npy(1, "|b1") + b"\2"), "neither True nor False"),
        (member("data/x.npy", npy(0), compressed=True), "must not be compressed"),
        (
            mutations.archive_of(mutations.members_of(good_file()) * 2),
            "must have different names",
        ),
    ],
    ids=range(23),
)
def test_other_files_are_refused(content, message, tmp_path):
    path = tmp_path / "train.bin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"train.bin: .*{message}"):
        binary_files.read(path)
    assert binary_files.is_binary(path) == content.startswith(
        (b"PK\3\4", b"______LightGBM_Binary_File_Token______")
    )


def test_files_of_lightgbm_are_known(tmp_path, lightgbm):
    X = np.random.default_rng(0).normal(size=(100, 2))
    path = str(tmp_path / "train.bin")
    lightgbm.Dataset(X, X[:, 0], params={"verbosity": -1}).save_binary(path)
    assert binary_files.is_binary(path)
    with pytest.raises(ValueError, match="binned data of LightGBM"):
        binary_files.read(path)


def test_files_that_are_not_there(tmp_path):
    for use in (binary_files.read, binary_files.is_binary):
        with pytest.raises(FileNotFoundError):
            use(tmp_path / "train.bin")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        binary_files.write(tmp_path / "a" / "train.bin", DATA["dense"](), {})


# --- Damaged states -------------------------------------------------------------------


def test_categories_agree_with_those_that_are_known():
    data, known = with_categories(200)
    binned_state.check_categories(data, known)
    for other in (with_categories(20)[1], Categories(None)):
        with pytest.raises(ValueError, match="are not those of its"):
            binned_state.check_categories(data, other)
    known.vocabularies[4] = known.vocabularies[1]
    with pytest.raises(ValueError, match="categories need their columns"):
        binned_state.check_categories(data, known)


def test_a_small_file_cannot_claim_much_memory(tmp_path):
    X = np.zeros((100_000, 1))
    X[:30] = 1.0
    data, path = build(X), tmp_path / "train.bin"
    binary_files.write(path, data, {})
    assert 100_000 <= path.stat().st_size < 110_000
    assert_same(data, binary_files.read(path)[0])
    for name, value in (("n_rows", 2**31 - 1), ("categories", 2**31 - 1)):
        sections = mutations.binary_sections()[WORDS]
        state = dict(sections["data"])
        replace = replaced("n_rows", lambda n: 2**31 - 1)
        (replace if name == "n_rows" else changed(name, 1, value))(state)
        with path.open("wb") as file:
            binary_files.write_sections(file, {"data": state, "fields": {}}, 0)
        with pytest.raises(ValueError, match="fewer values than rows and categories"):
            binary_files.read(path)


SCRIPTS = {
    "test_mutations_are_refused_or_serve": lambda kind: mutations.script(kind, 0, 50)
}


@pytest.mark.parametrize("kind", ["binary", "dataset"])
def test_mutations_are_refused_or_serve(kind, done):
    """Of files that were changed at random: none ends the process."""
    assert 20 < mutations.n_refused(done) < 49


def test_categories_of_numbers_are_kept(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 500, (2000, 2)) * 7.0
    estimator = LGBMRegressor(max_bin=600, min_data_in_bin=1, min_child_samples=1)
    found = columns(estimator, X, reset=True, categorical_feature=[0])
    data = BinnedDataset.build(
        found, parameters.make_settings(estimator.get_params(), "LGBMRegressor")
    )
    assert data.n_bins.max() > 256
    binary_files.write(tmp_path / "train.bin", data, {})
    assert_same(data, binary_files.read(tmp_path / "train.bin")[0])
