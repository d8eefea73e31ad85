"""Read LightGBM's text format: files of LightGBM 2 to 4, and of skgoss.

Nothing in a file is trusted: numbers are counted before memory is allocated for them,
and contradictions give ValueErrors that name the line. The numbers of all trees are
parsed together, one kind of line after the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.model_files import decimals
from skgoss.model.category_sets import NO_SETS, CategorySets, numbers_in
from skgoss.model.ensemble import Ensemble
from skgoss.model.file_header import Header, check_infos
from skgoss.model.linear import LinearLeaves
from skgoss.model.trees import (
    CATEGORICAL,
    DEFAULT_LEFT,
    LEAF_TYPES,
    NODE_TYPES,
    check_trees,
)
from skgoss.model_files import text_lines
from skgoss.model_files.text_lines import (
    ABSENT_LINE,
    BOUNDS_KEY,
    MEANS_KEY,
    FieldLines,
    Footer,
    Line,
    Section,
    SkgossLine,
    TreeSections,
    on_line,
    refuse,
)
from skgoss.utils.plain_values import INT32_MAX

_VERSIONS = (b"v2", b"v3", b"v4")

# The largest number of scores of a model without trees.
_MAX_EMPTY_SCORES = 1 << 16

# Fields that every tree has. Later versions added the others.
_NEEDED = ("leaf_value", "split_feature", "threshold", "left_child", "right_child")

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def read(text: str | bytes) -> tuple[Ensemble, Header]:
    """Read a file of LightGBM 2, 3 or 4, or of `write`; bytes are UTF-8.

    The sets of the ensemble have the categories in the file. For files of `write`, they
    have the numbers of categories, like the ensemble that was written. For files of
    another library, ``own`` of the header is empty.

    ValueError if the text is not such a file, or contradicts itself. The message begins
    with the number of a line.
    """
    header, trees, footer = text_lines.split(text)
    n_scores = _n_scores(header, len(trees.number))
    content = _content(header, footer)
    n_features, average = len(content.feature_names), "average_output" in header.fields
    ensemble = _ensemble(
        trees, n_scores, n_features, footer.skgoss_line, header, average=average
    )
    return ensemble, content


# --- The header -----------------------------------------------------------------------


def _field(header: Section, name: str) -> Line:
    """A field of the header, which must be there."""
    if name not in header.fields:
        refuse(header.number, f"the file has no {name!r}")
    return header.fields[name]


def _items(line: Line) -> list[str]:
    return [item for item in line.decoded().split(" ") if item]


def _whole(line: Line, name: str, low: int, high: int) -> int:
    """The whole number of a field, which must be within limits."""
    is_number = re.fullmatch(rb"-?[0-9]{1,10}", line.text) is not None
    if not is_number or not low <= int(line.text) <= high:
        refuse(line.number, f"{name} must be a whole number from {low} to {high}")
    return int(line.text)


def _n_scores(header: Section, n_trees: int) -> int:
    """The number of scores, which is that of the trees of a round.

    It is checked against the number of all trees. Two fields of the header have it, of
    which old files have one.
    """
    limit = n_trees or _MAX_EMPTY_SCORES
    numbers = {
        name: _whole(header.fields[name], name, 1, limit)
        for name in ("num_class", "num_tree_per_iteration")
        if name in header.fields
    }
    if not numbers:
        refuse(header.number, "the file has no 'num_class'")
    line, n_scores = _field(header, [*numbers][-1]), [*numbers.values()][-1]
    if len(set(numbers.values())) > 1:
        refuse(line.number, f"there must be one number of scores, got {numbers}")
    if n_trees % n_scores:
        refuse(
            line.number,
            f"trees must come in rounds of {n_scores}, but there are {n_trees}",
        )
    if "tree_sizes" in header.fields:
        line = header.fields["tree_sizes"]
        if len(line.text.split()) != n_trees:
            refuse(line.number, f"tree_sizes must have an entry for {n_trees} trees")
    return n_scores


def _content(header: Section, footer: Footer) -> Header:
    """The content of a file apart from the trees, checked."""
    if "version" in header.fields and _field(header, "version").text not in _VERSIONS:
        refuse(_field(header, "version").number, "the version must be v2, v3 or v4")
    line, skgoss_line = _field(header, "feature_names"), footer.skgoss_line
    names = _items(line)
    last = _field(header, "max_feature_idx")
    if _whole(last, "max_feature_idx", 0, INT32_MAX) != len(names) - 1:
        refuse(
            last.number,
            f"max_feature_idx must be {len(names) - 1} with {len(names)} feature_names",
        )
    columns = {*skgoss_line.names, *skgoss_line.values}
    unknown = [column for column in columns if column >= len(names)]
    if unknown:
        refuse(skgoss_line.number, f"there is no column {min(unknown)}")
    names = [skgoss_line.names.get(j, name) for j, name in enumerate(names)]
    if len(set(names)) < len(names):
        refuse(line.number, "the names of the columns must differ")
    return Header(
        feature_names=names,
        feature_infos=_infos(_field(header, "feature_infos"), len(names), skgoss_line),
        objective=header.fields.get("objective", ABSENT_LINE).decoded(),
        monotone_constraints=_signs(header, len(names)),
        parameters=footer.parameters,
        pandas_categorical=footer.pandas_categorical,
        own=skgoss_line.model,
    )


def _infos(line: Line, n_features: int, skgoss_line: SkgossLine) -> list[str]:
    """The entries of ``feature_infos``, one for each column, checked.

    In files of skgoss, categories become their numbers, which trees use, too.
    """
    infos = _items(line)
    if len(infos) != n_features:
        refuse(line.number, f"feature_infos must have {n_features} entries")
    with on_line(line.number):
        check_infos(infos)
        for column, categories in skgoss_line.values.items():
            infos[column] = _numbered(infos[column], categories)
    return infos


def _numbered(info: str, categories: Ints) -> str:
    """An entry of ``feature_infos``, with numbers of categories in place of values."""
    if info.startswith("[") or info == "none":
        return info
    values = np.array(info.split(":"), dtype=np.int64)
    is_category = values >= 0
    values[is_category] = numbers_in(categories, values[is_category])
    return ":".join(map(str, values.tolist()))


def _signs(header: Section, n_features: int) -> list[int]:
    """The monotone constraints; empty if the file has none."""
    if "monotone_constraints" not in header.fields:
        return []
    line = header.fields["monotone_constraints"]
    signs = line.text.split()
    if len(signs) != n_features or not {*signs} <= {b"-1", b"0", b"1"}:
        refuse(line.number, f"monotone_constraints must be {n_features} of -1, 0, 1")
    return list(map(int, signs))


# --- Trees ----------------------------------------------------------------------------


def _numbers(
    trees: TreeSections, key: str, sizes: Ints, dtype: type, *, needed: bool = False
) -> NDArray[Any]:
    """The numbers of one field of all trees, one tree after the other.

    Each tree must have as many as its entry of ``sizes``. Trees without the field get
    zeros, unless it is ``needed``.
    """
    field = trees.field(key)
    has_items = field.n_items > 0
    if needed and (wrong := ~has_items & (sizes > 0)).any():
        refuse(trees.number[wrong.argmax()], f"the tree has no {key!r}")
    if (wrong := has_items & (field.n_items != sizes)).any():
        first = wrong.argmax()
        refuse(field.number[first], f"{key} must have {sizes[first]} numbers")
    if has_items.all():
        return _parsed(trees.lines.text, field, key, dtype)
    values: NDArray[Any] = np.zeros(int(sizes.sum()), dtype=dtype)
    numbers = _parsed(trees.lines.text, field.take(has_items), key, dtype)
    values[np.repeat(has_items, sizes)] = numbers
    return values


def _parsed(text: bytes, lines: FieldLines, name: str, dtype: type) -> NDArray[Any]:
    """The numbers in some lines, one line after the other; errors name the line.

    ``name`` is the key of the lines. Thresholds may be infinite, others may not.
    """
    is_float = dtype is np.float64
    n_items = int(lines.n_items.sum())
    values: NDArray[Any] = np.empty(n_items, np.float64 if is_float else np.int64)
    if is_float:
        kind = decimals.KINDS["threshold" if name == "threshold" else "float"]
        n_read = decimals.read_floats(text, lines.start, lines.stop, kind, values)
    else:
        n_read = decimals.read_ints(text, lines.start, lines.stop, values)

    def refuse_item(index: int, message: str) -> NoReturn:
        line = np.searchsorted(np.cumsum(lines.n_items), index, side="right")
        refuse(lines.number[line], f"{name} must {message}")

    if n_read < n_items:
        meaning = "numbers" if is_float else "whole numbers"
        refuse_item(n_read, f"have {meaning} only")
    narrow: NDArray[Any] = values.astype(dtype, copy=False)
    if (narrow != values).any() and not is_float:
        first = int((narrow != values).argmax())
        refuse_item(first, f"fit into {np.dtype(dtype)}, got {values[first]}")
    return narrow


def _ensemble(
    trees: TreeSections,
    n_scores: int,
    n_features: int,
    skgoss_line: SkgossLine,
    header: Section,
    *,
    average: bool,
) -> Ensemble:
    """The ensemble of all trees, checked; errors name the line of a tree.

    ``n_scores`` is the number of trees of a round, ``average`` says that scores are
    means over the rounds. Bounds of linear leaves are in the header.
    """
    one = np.ones(len(trees.number), dtype=np.int64)
    n_leaves = _numbers(trees, "num_leaves", one, np.int32, needed=True)
    n_leaves = n_leaves.astype(np.int64)
    if (n_leaves < 1).any():
        refuse(trees.number[n_leaves.argmin()], "num_leaves must be at least 1")
    # The leaves come first: their number of values proves that num_leaves is right.
    arrays = {
        key: _numbers(trees, key, sizes, dtype, needed=key in _NEEDED)
        for sizes, dtypes in ((n_leaves, LEAF_TYPES), (n_leaves - 1, NODE_TYPES))
        for key, dtype in dtypes.items()
    }
    decision = arrays["decision_type"]
    # LightGBM ignores this bit in categorical nodes, and its files may have it.
    decision[decision & CATEGORICAL != 0] &= ~np.uint8(DEFAULT_LEFT)
    sets = _sets(trees, n_leaves - 1, arrays, skgoss_line)
    linear = _linear(trees, n_leaves, arrays["leaf_value"], header)
    leaf_start = np.concatenate([[0], np.cumsum(n_leaves)])
    try:
        return Ensemble(
            arrays,
            leaf_start,
            n_scores,
            n_features,
            sets,
            average=average,
            linear=linear,
        ).checked()
    except ValueError:
        _refuse_tree(trees, arrays, leaf_start, n_features, sets, linear)
        raise


def _refuse_tree(
    trees: TreeSections,
    arrays: Mapping[str, NDArray[Any]],
    leaf_start: Ints,
    n_features: int,
    sets: CategorySets,
    linear: LinearLeaves | None,
) -> None:
    """Raise the error of the first wrong tree, by a binary search.

    The first n trees alone are valid if and only if none of them is wrong.
    """
    passing, failing = 0, len(trees.number)
    while passing < failing:
        n = (passing + failing + 1) // 2
        n_leaves = int(leaf_start[n])
        stops = dict.fromkeys(LEAF_TYPES, n_leaves)
        stops |= dict.fromkeys(NODE_TYPES, n_leaves - n)
        first = {name: arrays[name][:stop] for name, stop in stops.items()}
        some = linear and linear.leaves(0, n_leaves)
        try:
            check_trees(first, leaf_start[: n + 1], 1, n_features, sets, some)
        except ValueError as error:
            if failing == n:
                refuse(trees.number[n - 1], str(error))
            failing = n
        else:
            passing = n


# --- Categories -----------------------------------------------------------------------


def _sets(
    trees: TreeSections,
    n_nodes: Ints,
    arrays: dict[str, NDArray[Any]],
    skgoss_line: SkgossLine,
) -> CategorySets:
    """The sets of categories of all trees.

    In a file, the threshold of a categorical node is the number of a set in its tree;
    in ``arrays``, which is changed, it becomes the number among the sets of all trees.
    ``n_nodes`` has the number of nodes of each tree.
    """
    one = np.ones(len(trees.number), dtype=np.int64)
    n_cat = _numbers(trees, "num_cat", one, np.int32, needed=True)
    has_sets = n_cat > 0
    n_sets, sets = np.zeros_like(one), NO_SETS
    if has_sets.any():
        sets, n_sets[has_sets] = _read_sets(trees.take(has_sets), n_cat[has_sets])
    node = np.flatnonzero(arrays["decision_type"] & CATEGORICAL)
    tree = np.repeat(np.arange(len(one)), n_nodes)[node]
    number = arrays["threshold"][node]
    wrong = (number != np.floor(number)) | (number < 0) | (number >= n_sets[tree])
    if wrong.any():
        first_wrong = tree[int(wrong.argmax())]
        refuse(
            trees.field("threshold").number[first_wrong],
            "the threshold of a categorical node must be the number of a set, but"
            f" there are {n_sets[first_wrong]} sets",
        )
    first_set = np.cumsum(n_sets) - n_sets
    number = number.astype(np.int64) + first_set[tree]
    arrays["threshold"][node] = number
    if not skgoss_line.values:
        return sets
    with on_line(skgoss_line.number):
        if len(np.unique(number)) < len(number):
            raise ValueError("each categorical node must have a set of its own")
        column = np.full(len(sets.start) - 1, -1, dtype=np.int32)
        column[number] = arrays["split_feature"][node]
        # Values become numbers.
        values = skgoss_line.values.items()
        return sets.mapped(column, {j: partial(numbers_in, v) for j, v in values})


def _read_sets(
    trees: TreeSections, n_cat: NDArray[np.int32]
) -> tuple[CategorySets, Ints]:
    """The sets of some trees, and the number of each tree's sets.

    A tree writes its sets as words of 32 bits, one set after the other. For example,
    the sets {0, 2} and {33} are:

        cat_boundaries=0 1 3     where the words of each set begin, and the end
        cat_threshold=5 0 2      bits 0 and 2 of a word; bit 1 of a second word

    `CategorySets` has the words of all trees, and one start for each set. If the next
    tree has one set of two words:

        boundary                             0  1  3    0  2
        plus the words of earlier trees      0  1  3    3  5
        without the end of each tree         0  1       3
        start: with the number of all words  0  1       3     5

    LightGBM 2.0 has files with more sets than ``num_cat``.
    """
    lines = trees.field("cat_boundaries")
    sizes = lines.n_items
    if (wrong := sizes <= n_cat).any():
        at = wrong.argmax()
        refuse(
            lines.number[at] or trees.number[at],
            f"cat_boundaries must have more than {n_cat[at]} numbers",
        )
    boundary = _numbers(trees, "cat_boundaries", sizes, np.uint32).astype(np.int64)
    last = np.cumsum(sizes) - 1
    first = last - sizes + 1
    rises = np.append(boundary[1:] >= boundary[:-1], True)
    rises[last] = boundary[first] == 0
    if not rises.all():
        tree = np.searchsorted(last, rises.argmin())
        refuse(lines.number[tree], "cat_boundaries must rise from 0")
    n_words = boundary[last]
    words = _numbers(trees, "cat_threshold", n_words, np.uint32, needed=True)
    start = boundary + np.repeat(np.cumsum(n_words) - n_words, sizes)
    start = np.append(np.delete(start, last), len(words))
    return CategorySets(start, words), sizes - 1


# --- Linear leaves --------------------------------------------------------------------


def _linear(
    trees: TreeSections, n_leaves: Ints, leaf_value: Floats, header: Section
) -> LinearLeaves | None:
    """The linear models of all leaves; None if no tree has any.

    Leaves of other trees get a constant.
    """
    one = np.ones(len(trees.number), dtype=np.int64)
    is_linear = _numbers(trees, "is_linear", one, np.uint8) > 0
    if not is_linear.any():
        return None
    some = trees.take(is_linear)
    sizes, is_linear_leaf = n_leaves[is_linear], np.repeat(is_linear, n_leaves)
    constant = leaf_value.copy()
    constant[is_linear_leaf] = _numbers(
        some, "leaf_const", sizes, np.float64, needed=True
    )
    n_terms = np.zeros(len(leaf_value), dtype=np.int64)
    n_terms[is_linear_leaf] = _numbers(
        some, "num_features", sizes, np.uint32, needed=True
    )
    start = np.concatenate([[0], np.cumsum(n_terms)])
    ends = np.cumsum(n_leaves)
    sizes = (start[ends] - start[ends - n_leaves])[is_linear]
    feature = _numbers(some, "leaf_features", sizes, np.int32, needed=True)
    coefficient = _numbers(some, "leaf_coeff", sizes, np.float64, needed=True)
    terms = {"start": start, "feature": feature, "coefficient": coefficient}
    leaves = LinearLeaves.unbounded(constant, **terms)
    bounds = _header_numbers(header, BOUNDS_KEY, 2 * len(constant))
    if bounds is not None:
        lower, upper = np.split(bounds, 2)
        if (lower > upper).any():
            message = f"a lower bound in {BOUNDS_KEY} is above its upper one"
            refuse(header.fields[BOUNDS_KEY].number, message)
        leaves = leaves._replace(lower=lower, upper=upper)
    means = _header_numbers(header, MEANS_KEY, len(coefficient))
    return leaves if means is None else leaves._replace(mean=means)


def _header_numbers(header: Section, key: str, n: int) -> Floats | None:
    """The ``n`` numbers of a line of the header; None if there is no such line."""
    found = header.fields.get(key, ABSENT_LINE)
    if found is ABSENT_LINE:
        return None
    stop, n_found = np.array([[len(found.text)], [len(found.text.split())]])
    if n_found[0] != n:
        refuse(found.number, f"{key} must have {n} numbers")
    line = FieldLines(np.array([found.number]), np.zeros_like(stop), stop, n_found)
    return _parsed(found.text, line, key, np.float64)
