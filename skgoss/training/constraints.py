"""Constraints on trees: from options by name or number to arrays for the engine."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.binning import forced_bins
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.columns.names import ColumnFinder
from skgoss.parameters.settings import Settings
from skgoss.utils import disk
from skgoss.utils.messages import STANDS_FOR_LIGHTGBM, warn

# The numbers of `Bounding` in _engine/training/workspace.pxd.
UNBOUNDED = 0
BOUNDINGS = {"basic": 1, "intermediate": 2, "advanced": 3}

# The bin of a forced split whose column has only one bin.
NO_BIN = -1

# The options with a value for each column, and its default.
PER_COLUMN = {
    "monotone_constraints": 0,
    "feature_contri": 1.0,
    "max_bin_by_feature": None,
}

OPTIONS = (
    *PER_COLUMN,
    "interaction_constraints",
    "forcedsplits_filename",
    forced_bins.OPTION,
)


class ForcedSplit(NamedTuple):
    """A split that every tree begins with.

    ``left`` and ``right`` are the indices of the next forced splits, -1 for none.
    """

    column: int
    threshold: float
    left: int = -1
    right: int = -1


@dataclass(frozen=True)
class FeatureSets:
    """Sets of features that may interact, and the sets of each feature."""

    # (n_sets + 1,): the index in ``features`` of the first feature of each set, and the
    # end.
    start: NDArray[np.int64]
    features: NDArray[np.int32]  # the features of all sets
    # (n_used + 1,): the index in ``by_feature`` of the first set of each feature, and
    # the end.
    by_feature_start: NDArray[np.int64]
    by_feature: NDArray[np.int32]  # the sets of all features


@dataclass(frozen=True)
class TreeConstraints:
    """Constraints in terms of the used features of a data set."""

    bounding: int  # how outputs are bounded: `UNBOUNDED` or one of `BOUNDINGS`
    # (n_used,): 1: outputs may only increase with the feature, -1: only decrease, 0:
    # both.
    sign: NDArray[np.int8] | None
    penalty: float  # the option ``monotone_penalty``
    factor: NDArray[np.float64] | None  # (n_used,): the factors of gains
    sets: FeatureSets | None
    # (n_forced, 4): feature, bin, and the indices of the next forced splits on the left
    # and on the right, -1 for none.
    forced: NDArray[np.int32]


# --- Options --------------------------------------------------------------------------


def resolve_columns(
    settings: Settings,
    n_features: int,
    categorical: Container[int],
    names: Sequence[Any] | None,
) -> Settings:
    """The settings with numbers of columns in place of names.

    Options with a value for each column become lists of these values, interaction
    constraints lists of numbers, and forced splits lists of `ForcedSplit`. Columns
    whose numbers are in ``categorical`` hold categories. ValueError if a column is
    unknown, a list does not have one entry for each column, or a constraint is not
    possible.
    """
    reader = _ConstraintReader(n_features, names)
    changes: dict[str, Any] = {
        option: reader.values(getattr(settings, option), option, default)
        for option, default in PER_COLUMN.items()
    }
    changes["interaction_constraints"] = reader.sets(settings.interaction_constraints)
    changes["forcedsplits_filename"] = reader.forced(settings.forcedsplits_filename)
    changes[forced_bins.OPTION] = forced_bins.by_column(
        settings.forcedbins_filename, reader
    )
    _check_monotone(changes["monotone_constraints"], settings, reader, categorical)
    for split in changes["forcedsplits_filename"] or ():
        if split.column in categorical:
            raise ValueError(
                "forcedsplits_filename can only split columns of numbers; column"
                f" {reader.name(split.column)!r} holds categories."
            )
    return settings.replaced(**changes)


def extended(
    settings: Settings, n_features: int, sources: Sequence[Sequence[int]]
) -> Settings:
    """The settings of `resolve_columns` with computed columns, after ``n_features``.

    ``sources`` are the columns that each is made of. Its factor of gains is that of a
    single source, and it is in all sets that have its sources. Other options have their
    default: a monotone constraint on a date is one on its days.
    """
    changes: dict[str, Any] = {}
    for option, default in PER_COLUMN.items():
        values = getattr(settings, option)
        if values is not None:
            follows = option == "feature_contri"
            changes[option] = [
                *values,
                *(
                    values[s[0]] if follows and len(s) == 1 else default
                    for s in sources
                ),
            ]
    if settings.interaction_constraints is not None:
        numbered = list(enumerate(sources, n_features))
        changes["interaction_constraints"] = [
            [*allowed, *(j for j, of in numbered if set(of).issubset(allowed))]
            for allowed in settings.interaction_constraints
        ]
    return settings.replaced(**changes)


@dataclass(frozen=True)
class _ConstraintReader(ColumnFinder):
    """Reads constraints, and finds the columns in them."""

    def sets(self, passed: Any) -> list[list[int]] | None:
        """The interaction constraints as lists of column numbers; None: there are none.

        ``passed`` is the option: sets of names or numbers, or one of the words
        'no_interactions' and 'pairwise'.
        """
        if passed is None:
            return None
        if passed == "no_interactions":
            return [[j] for j in range(self.n_features)]
        if passed == "pairwise":
            pairs = itertools.combinations(range(self.n_features), 2)
            return [list(pair) for pair in pairs] or [[0]]
        option = "interaction_constraints"
        sets = [
            sorted({self.number(column, option) for column in allowed})
            for allowed in passed
        ]
        self._warn_of_missing(set(range(self.n_features)).difference(*sets))
        return sets

    def _warn_of_missing(self, columns: set[int]) -> None:
        """Warn of columns that no tree splits, because they are in no set."""
        if not columns or STANDS_FOR_LIGHTGBM.is_set():
            return
        shown = ", ".join(repr(self.name(j)) for j in sorted(columns)[:5])
        shown += ", ..." if len(columns) > 5 else ""
        warn(
            "interaction_constraints: no tree splits columns that are in no group:"
            f" {shown}. For a column without interactions, add a group of it alone,"
            f" such as [{self.name(min(columns))!r}]."
        )

    def forced(self, passed: Any) -> list[ForcedSplit] | None:
        """The forced splits as a list, parents before children; None: there are none.

        ``passed`` is the option: a JSON file, or the nested dicts in it.
        """
        tree = disk.json_contents(passed, "forcedsplits_filename")
        splits: list[ForcedSplit] = []
        queue = deque([(tree, -1, "")] if tree else [])
        while queue:
            node, parent, side = queue.popleft()
            if parent >= 0:
                splits[parent] = splits[parent]._replace(**{side: len(splits)})
            for child in ("left", "right"):
                if isinstance(node, Mapping) and node.get(child):
                    queue.append((node[child], len(splits), child))
            splits.append(self._split(node))
        return splits or None

    def _split(self, node: Any) -> ForcedSplit:
        """The forced split of a node, without its children."""
        try:
            column, threshold = node["feature"], float(node["threshold"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                "Each node of forcedsplits_filename must be an object with a 'feature'"
                " (name or number) and a 'threshold' (number); 'left' and 'right' are"
                f" optional. Got {node!r}."
            ) from error
        return ForcedSplit(self.number(column, "forcedsplits_filename"), threshold)


def _check_monotone(
    signs: list[int] | None,
    settings: Settings,
    reader: _ConstraintReader,
    categorical: Container[int],
) -> None:
    """Check that columns with monotone constraints have ordered values.

    ``signs`` has the constraint of each column; None: there are none. ``categorical``
    has the numbers of columns of categories. ValueError if values have no order; warns
    of a penalty that is too large.
    """
    for column in np.flatnonzero(signs if signs is not None else []).tolist():
        if column in categorical:
            raise ValueError(
                f"monotone_constraints: column {reader.name(column)!r} holds"
                " categories, which have no order. Set its constraint to 0, or give it"
                " numbers."
            )
        if settings.zero_as_missing:
            raise ValueError(
                "monotone_constraints need zero_as_missing=False, because zeros that"
                " are missing values have no order."
            )
    if signs is not None and any(signs):
        _warn_of_penalty(settings)


def _warn_of_penalty(settings: Settings) -> None:
    """Warn of a penalty that removes the gain of constrained columns at every depth."""
    depths = {"num_leaves": settings.num_leaves - 1, "max_depth": settings.max_depth}
    limits = {name: depth for name, depth in depths.items() if depth > 0}
    name = min(limits, key=lambda name: limits[name])
    if settings.monotone_penalty >= limits[name]:
        warn(
            f"With monotone_penalty={settings.monotone_penalty:g} and {name}="
            f"{getattr(settings, name)}, columns with a constraint in"
            " monotone_constraints are split only where no other column has a gain."
            f" Set monotone_penalty below {limits[name]}."
        )


# --- Arrays for the engine -----------------------------------------------------------


def tree_constraints(
    settings: Settings, dataset: BinnedDataset
) -> TreeConstraints | None:
    """The constraints in the settings of `resolve_columns`; None: there are none."""
    used = dataset.feature
    signs, factors = settings.monotone_constraints, settings.feature_contri
    sets, forced = settings.interaction_constraints, settings.forcedsplits_filename
    if signs is sets is factors is forced is None or len(used) == 0:
        return None
    sign = None if signs is None else np.array(signs, dtype=np.int8)[used]
    if sign is not None and str(settings.objective).startswith("aft_"):
        sign = -sign  # the prediction is the negative score
    method = settings.monotone_constraints_method
    return TreeConstraints(
        bounding=UNBOUNDED if sign is None else BOUNDINGS[method],
        sign=sign,
        penalty=0.0 if sign is None else settings.monotone_penalty,
        factor=None if factors is None else np.array(factors, dtype=np.float64)[used],
        sets=None if sets is None else _feature_sets(sets, dataset),
        forced=_forced_bins(forced or [], dataset),
    )


def _feature_sets(sets: list[list[int]], dataset: BinnedDataset) -> FeatureSets:
    """Sets of columns as sets of used features, and the sets of each feature.

    ``sets`` are lists of column numbers. Columns that cannot be split are left out.
    """
    number = np.full(dataset.n_features, -1, dtype=np.int32)
    number[dataset.feature] = np.arange(len(dataset.feature), dtype=np.int32)
    member = number[np.concatenate(sets)]
    owner = np.repeat(np.arange(len(sets), dtype=np.int32), [len(s) for s in sets])
    member, owner = member[member >= 0], owner[member >= 0]
    order = np.argsort(member, kind="stable")
    return FeatureSets(
        start=_starts(owner, len(sets)),
        features=member,
        by_feature_start=_starts(member, len(dataset.feature)),
        by_feature=owner[order],
    )


def _starts(numbers: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    """Where the items of each number begin if they are sorted by number, and the end.

    ``numbers`` has the number of each item, from 0 to ``size - 1``.
    """
    return np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=size))])


def _forced_bins(
    forced: list[ForcedSplit], dataset: BinnedDataset
) -> NDArray[np.int32]:
    """The forced splits in terms of used features and bins: see `TreeConstraints`."""
    number = {column: j for j, column in enumerate(dataset.feature.tolist())}
    rows = []
    for split in forced:
        feature, bin_ = number.get(split.column, 0), NO_BIN
        if split.column in number:
            bounds = dataset.upper_bounds[feature]
            bin_ = int(np.searchsorted(bounds, split.threshold))
        rows.append((feature, bin_, split.left, split.right))
    return np.array(rows, dtype=np.int32).reshape(-1, 4)


# --- Renewed leaves -------------------------------------------------------------------


def clip_to_monotone(
    values: NDArray[np.float64],
    nodes: NDArray[Any],
    sign: NDArray[np.int8],
    compute_values: Callable[[list[list[int]]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Clip the values of leaves so that the tree is monotone.

    A split of a monotone feature bounds the outputs below it: on one side they are at
    most, on the other at least, the mean of the values that its children would have as
    leaves. If these are in the wrong order, it is the value that the node would have as
    a leaf: the best one for both children. So, with values of lowest loss, the leaves
    below a node have no larger loss than the node as a leaf.

    ``nodes`` have ``feature``, ``left`` and ``right``, in order of creation; for
    ``sign``, see `TreeConstraints`. ``compute_values`` gets lists of leaves, which have
    no leaf in common. It returns the value of a leaf with the rows of each list.
    """
    leaves_below: dict[int, list[int]] = {~leaf: [leaf] for leaf in range(len(values))}
    for index in range(len(nodes) - 1, -1, -1):
        leaves_below[index] = (
            leaves_below[nodes["left"][index]] + leaves_below[nodes["right"][index]]
        )
    unbounded = {~leaf: float(value) for leaf, value in enumerate(values)}
    for level in _compared_nodes(nodes, sign):
        new = compute_values([leaves_below[index] for index in level])
        unbounded |= zip(level, new.tolist(), strict=True)

    def value(index: int) -> float:
        if index not in unbounded:
            unbounded[index] = float(compute_values([leaves_below[index]])[0])
        return unbounded[index]

    values = values.copy()
    bounds = {0: (-np.inf, np.inf)} if len(nodes) else {}
    for index, node in enumerate(nodes):
        children = node["left"], node["right"]
        direction = sign[node["feature"]]
        for child in children:
            bounds[child] = bounds[index]
        if direction:
            low, high = children if direction > 0 else children[::-1]
            middle = np.mean(
                [np.clip(unbounded[child], *bounds[index]) for child in children]
            )
            if unbounded[low] > unbounded[high]:
                middle = np.clip(value(index), *bounds[index])
            bounds[low] = (bounds[index][0], middle)
            bounds[high] = (middle, bounds[index][1])
    for leaf in range(len(values)):
        values[leaf] = np.clip(values[leaf], *bounds.get(~leaf, (-np.inf, np.inf)))
    return values


def _compared_nodes(nodes: NDArray[Any], sign: NDArray[np.int8]) -> list[list[int]]:
    """The nodes that splits of monotone features compare, by level of the tree.

    They are the inner children of such a split, whose values as leaves must be known.
    Leaves are not among them. Nodes of a level have no leaf in common, so that their
    values are computed together.
    """
    level = {0: 0}
    compared: dict[int, list[int]] = {}
    for index, node in enumerate(nodes):
        inner = [int(child) for child in (node["left"], node["right"]) if child >= 0]
        level |= dict.fromkeys(inner, level[index] + 1)
        if sign[node["feature"]]:
            compared.setdefault(level[index], []).extend(inner)
    return [children for children in compared.values() if children]
