"""Text files that contradict themselves are refused, with the number of the line."""

from __future__ import annotations

import re
import tracemalloc

import numpy as np
import pytest

from helpers import mutations
from helpers.trees import frame
from skgoss.model_files import text_reader

PLAIN, CATEGORICAL, LINEAR, _, WORDS, OLDEST, OLD, OLD_FOREST = range(8)


def file_of(kind):
    return mutations.text_files()[kind].decode()


def replaced(file, pattern, new):
    """The file with the first match of a pattern replaced, and the match's line."""
    match = re.search(pattern, file, re.MULTILINE)
    line = file.count("\n", 0, match.start()) + 1
    return file[: match.start()] + new + file[match.end() :], line


# The pattern of a change, what replaces it, the message, and how the line that the
# message names begins; None: the message names the line of the change.
HEAD = [
    (r"^tree$", "trees", "must begin with the line 'tree'", None),
    (r"^version=v4", "version=v5", "the version must be v2, v3 or v4", None),
    (r"^num_class=1", "num_class=2", "there must be one number", "num_tree_per_"),
    (r"^num_class=1", "num_class=0", "must be a whole number from 1 to 2", None),
    (r"^num_class=1", "num_class=1.0", "must be a whole number from 1 to 2", None),
    (r"^num_class=1", "num_class=1000000000", "from 1 to 2", None),
    (r"^num_class=1", "num_class=1\nnum_class=1", "twice; it is on line 3", "num_cl"),
    (r"^num_class=.*\n.*", "num=1", "the file has no 'num_class'", "tree"),
    (r"^max_feature_idx=3", "max_feature_idx=2", "max_feature_idx must be 3", None),
    (r"^max_feature_idx=3", "max_feature_idx=2147483648", "must be a whole", None),
    (r"^max_feature_idx=3\n", "", "the file has no 'max_feature_idx'", "tree"),
    (r"^feature_names=a_b", "feature_names=d e", "max_feature_idx must be 4", "max_fe"),
    (r"^feature_names=a_b Column_1 ä", "feature_names=a b d", "must differ", None),
    (r"^feature_names=", "feature_names=\ud800", "can't decode", None),
    (r"^monotone_constraints=1", "monotone_constraints=2", "4 of -1, 0, 1", None),
    (r"^feature_infos=\S+", "feature_infos=", "must have 4 entries", None),
    (r"^feature_infos=\S+", "feature_infos=[1:2:3]", "must hold ranges", None),
    (r"^tree_sizes=", "tree_sizes=1 ", "must have an entry for 2 trees", None),
]
TREES = [
    (r"^Tree=1", "Tree=2", "'Tree=1' must come here", None),
    (r"^num_leaves=5", "num_leaves=1000000000", "must have 1000000000 num", "leaf_v"),
    (r"^num_leaves=5", "num_leaves=6", "leaf_value must have 6 numbers", "leaf_value"),
    (r"^num_leaves=5", "num_leaves=-5", "must be at least 1", "Tree=0"),
    (r"^num_leaves=5", "num_leaves=99999999999", "must fit into int32", None),
    (r"^num_leaves=5", "num_leaves=five", "must have whole numbers only", None),
    (r"^num_leaves=5", "num_leaves=5\nnum_leaves=5", "'num_leaves' comes", "num_l"),
    (r"^num_leaves=5", "gone=5", "the tree has no 'num_leaves'", "Tree=0"),
    (r"^leaf_value=", "gone=", "the tree has no 'leaf_value'", "Tree=0"),
    (r"^leaf_value=\S+", "leaf_value=1_0", "must have numbers only", None),
    (r"^leaf_value=\S+", "leaf_value=0x10", "must have numbers only", None),
    (r"^leaf_count=\S+", "leaf_count=1.5", "must have whole numbers only", None),
    (r"^leaf_count=\S+", "leaf_count=", "leaf_count must have 5 numbers", None),
    (r"^threshold=\S+", "threshold=nan", "threshold must have numbers only", None),
    (r"^split_feature=\S", "split_feature=4", r"must lie in 0\.\.3", "Tree=0"),
    (r"^split_feature=\S", "split_feature=3000000000", "must fit into int32", None),
    (r"^decision_type=\S+", "decision_type=12", "must have bit 0", "Tree=0"),
    (r"^decision_type=\S+", "decision_type=300", "must fit into uint8", None),
    (r"^decision_type=\S+", "decision_type=1", "there are 0 sets", "threshold="),
    (r"^left_child=\S+", "left_child=0", "node 0 of tree 0 has the", "Tree=0"),
    (r"^right_child=\S+", "right_child=77", "must be a later node", "Tree=0"),
    (r"^num_cat=0", "num_cat=1", "cat_boundaries must have more than 1", "Tree=0"),
    (r"^num_cat=0", "gone=0", "the tree has no 'num_cat'", "Tree=0"),
    (r"^end of trees\n(.*\n)*", "", "ends within its trees", ""),
    (r"^end of trees$", "end of tree", "a tree, or the end of the trees", None),
    (r"^Tree=0(.*\n)*", "", "ends before its trees", ""),
    (r"^end of parameters\n(.*\n)*", "", "ends too early", ""),
    (r"^\[num_leaves: 5\]", "[num_leaves: 5", "must have the form", None),
    (r"^\[num_leaves", "[num_\rleaves", "a carriage return must stand", None),
]
DEEP = 100_000
MODEL = r'"model": \{.*?\}\]\}'
OWN = [
    (r'"names": \{"0"', '"names": {"9"', "there is no column 9", None),
    (r'"names": \{"0"', '"names": {"x"', "must be its number, got 'x'", None),
    (r'"names": \{"0": "a b"', '"names": {"0": 1', "must be strings", None),
    (r'"names": \{"0": "a b"', '"names": {"0": "d"', "must differ", "feature_names="),
    (MODEL, '"model": 1', "'model' of the line of skgoss must not be", None),
    (r'"model"', '"mode"', "the line of skgoss has no 'model'", None),
    (r'"model": \{', '"model": ' + '{"a": ' * DEEP, "the JSON cannot be read", None),
    (MODEL, f'"model": {"[" * DEEP}', "the JSON cannot be read", None),
    (MODEL, f'"model": {{"a": {"[" * 99 + "]" * 99}}}', "deeper than 50 levels", None),
    (r"_categorical:null", "_categorical:3", "null or a list of lists", None),
    (r"_categorical:null", "_categorical:[1]", "null or a list of lists", None),
    (r"_categorical:null", "_categorical:" + "[" * DEEP, "the JSON", None),
    (r"_categorical:null", "_categorical:[" + "9" * 5000, "the JSON", None),
]
VALUES = r'"values": \{"3": \[3, '
SETS = [
    (r"^cat_boundaries=0", "cat_boundaries=1", "must rise from 0", None),
    (r"^cat_boundaries=0 \S+", "cat_boundaries=0 1000000000000", "uint32", None),
    (r"^cat_boundaries=0 \S+$", "cat_boundaries=0 4000000000", "40000", "cat_thres"),
    (r"^cat_boundaries=", "gone=", "must have more than 1 numbers", "Tree=0"),
    (r"^cat_threshold=", "gone=", "the tree has no 'cat_threshold'", "Tree=0"),
    (r"^cat_threshold=", "cat_threshold=1 ", "cat_threshold must have", None),
    (r"^cat_threshold=\S+", "cat_threshold=4294967296", "fit into uint32", None),
    (r"^cat_threshold=\S+", "cat_threshold=1", "category 0 is not among", "[skgoss"),
    (r":3:10", ":3:11", "the category 11 is not among the values", None),
    (r":3:10", ":3:x", "categories such as", None),
    (VALUES, '"values": {"3": [3, 3, ', "must be ascending", None),
    (VALUES, '"values": {"3": [3.0, ', "a list of numbers from 0 on", None),
    (VALUES, '"values": {"3": [-3, ', "a list of numbers from 0 on", None),
    (r'"values": \{"3": \[.*?\]', '"values": {"3": {}', "a list of numbers", None),
    (r'"values": \{"3"', '"values": {"4"', "there is no column 4", None),
]
LEAVES = [
    (r"^is_linear=1", "is_linear=x", "must have whole numbers only", None),
    (r"^leaf_const=", "gone=", "the tree has no 'leaf_const'", "Tree=0"),
    (r"^leaf_const=\S+", "leaf_const=x", "must have numbers only", None),
    (r"^num_features=\S", "num_features=-1", "must fit into uint32", None),
    (r"^leaf_features=\S", "leaf_features=9", "leaves must lie in", "Tree=1"),
    (r"^leaf_coeff=\S", "leaf_coeff=1 1", "leaf_coeff must have", None),
    (r"^leaf_bounds=", "leaf_bounds=1 ", "leaf_bounds must have", None),
    (r"^leaf_bounds=\S+", "leaf_bounds=x", "must have numbers only", None),
    (r"^leaf_means=", "leaf_means=1 ", "leaf_means must have", None),
    (r"^leaf_means=\S+", "leaf_means=x", "must have numbers only", None),
    (r"^leaf_bounds=\S+", "leaf_bounds=1e9", "is above its upper one", None),
]
CASES = {PLAIN: HEAD + TREES + OWN, CATEGORICAL: SETS, LINEAR: LEAVES}


@pytest.mark.parametrize(
    ("kind", "pattern", "new", "message", "where"),
    [(kind, *case) for kind, cases in CASES.items() for case in cases],
    ids=lambda value: value[:30] if isinstance(value, str) else value,
)
def test_contradictions_name_their_line(kind, pattern, new, message, where):
    file, line = replaced(file_of(kind), pattern, new)
    with pytest.raises(ValueError, match=rf"^line \d+: .*{message}") as caught:
        text_reader.read(file)
    named = int(str(caught.value)[5:].split(":")[0])
    if where is None:
        assert named == line
    else:
        assert file.split("\n")[named - 1].startswith(where)
    if where == "":  # the end of the file
        assert named >= line - 1


@pytest.mark.parametrize("kind", range(len(mutations.text_files())))
def test_beginnings_of_files_are_refused(kind):
    file = mutations.text_files()[kind]
    # Files of LightGBM may end behind their trees.
    ends = dict.fromkeys((OLDEST, OLD), b"\nfeature importances:")
    ends[OLD_FOREST] = b"\nend of trees"
    end = file.index(ends[kind]) if kind in ends else len(file) - 1
    for stop in {*range(0, end, 41), *range(max(0, end - 30), end)}:
        with pytest.raises(ValueError, match=r"^line \d+: "):
            text_reader.read(file[:stop])


HUGE = [
    *(f"num_leaves={10**9}\nnum_cat=0\nleaf_value=1\n", "num_leaves=2000000000\n"),
    "num_leaves=1\nnum_cat=2000000000\nleaf_value=1\ncat_boundaries=0\n",
    f"num_leaves=1\nnum_cat=1\nleaf_value=1\ncat_boundaries=0 {2**32 - 1}\n",
    "num_leaves=1\nnum_cat=0\nleaf_value=1\nis_linear=1\nleaf_const=1\n"
    f"num_features={2**32 - 1}\n",
]
SMALL_HEAD = (
    "tree\nnum_class={}\nmax_feature_idx={}\nfeature_names=a\nfeature_infos=none\n"
)


@pytest.mark.parametrize(
    "file",
    [
        *(
            f"{SMALL_HEAD.format(1, 0)}Tree=0\n{tree}\n\nend of trees\n"
            for tree in HUGE
        ),
        SMALL_HEAD.format(1, 2**31) + "end of trees\n",
        SMALL_HEAD.format(10**9, 0) + "end of trees\n",
    ],
)
def test_memory_is_proportional_to_the_file(file):
    tracemalloc.start()
    with pytest.raises(ValueError, match="line"):
        text_reader.read(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


def test_odd_files_that_are_fine():
    plain = file_of(PLAIN)
    expected = text_reader.read(plain)[0]
    others = [
        re.sub(r"(?<=[0-9]) (?=[-0-9])", "   ", plain),
        "\ufeff" + plain,
        plain.replace("version=v4\n", "version=v4\nnew_key=1\n"),
        plain.replace("shrinkage=1", "shrinkage=1\nnew_key=1"),
        plain.replace("num_tree_per_iteration=1\n", ""),
        plain.replace("skgoss=1\n", "").split("pandas_categorical")[0],
    ]
    for file in others:
        assert file != plain
        ensemble, _ = text_reader.read(file)
        for name, values in expected.arrays.items():
            assert values.tobytes() == ensemble.arrays[name].tobytes()


@pytest.mark.parametrize(
    ("word", "value"), [("inf", np.inf), ("-inf", -np.inf), ("-nan(ind)", np.nan)]
)
def test_values_that_lightgbm_writes_for_numbers_that_are_none(word, value):
    plain = file_of(PLAIN)
    file, _ = replaced(plain, r"^internal_value=\S+", f"internal_value={word}")
    ensemble, _ = text_reader.read(file)
    np.testing.assert_equal(ensemble.arrays["internal_value"][0], value)


@pytest.mark.parametrize("kind", [PLAIN, CATEGORICAL, WORDS])
def test_files_without_our_line_are_foreign(kind):
    file, _ = replaced(file_of(kind), r"^\[skgoss.*\n", "")
    file, _ = replaced(file, r"^skgoss=1\n", "")
    ensemble, header = text_reader.read(file)
    assert header.own == {}
    X = mutations.text_data()[0]
    whole, _ = text_reader.read(file_of(kind))
    if kind == CATEGORICAL:  # its sets hold values, which the rows hold as well
        codes = X.copy()
        codes[:, 3] = (X[:, 3] - 3) / 7
        np.testing.assert_array_equal(
            ensemble.raw_scores(frame(X)), whole.raw_scores(frame(codes))
        )
    else:
        assert ensemble.sets.words.tobytes() == whole.sets.words.tobytes()


SCRIPTS = {
    "test_mutations_are_refused_or_serve": lambda: mutations.script("text", 0, 150)
}


def test_mutations_are_refused_or_serve(done):
    """Of files that were changed at random: none ends the process."""
    # Some serve, some do not: the script does both.
    assert 40 < mutations.n_refused(done) < 150
