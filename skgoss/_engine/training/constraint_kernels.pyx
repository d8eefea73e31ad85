"""Interaction constraints and monotone constraints.

Under monotone constraints a tree must be monotone in some features. Two leaves are neighbors if a
row can go from one to the other by a change of such a feature alone: they share bins of all other
features, and are separated at a node that splits it. A tree is monotone if and only if the outputs
of all pairs of neighbors are in order. Outputs stay in order when a leaf is split if those of its
children are bounded by the outputs of

- the neighbors of the leaf (INTERMEDIATE),
- the child's own neighbors (ADVANCED),
- or, at each node above that splits a monotone feature, the mean of its children's outputs (BASIC).
"""

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t
from libc.string cimport memset

from skgoss._engine.training.layout cimport Binned
from skgoss._engine.training.split cimport BinRange, FeatureBounds, PartialBound
from skgoss._engine.training.workspace cimport (
    ADVANCED, BASIC, INTERMEDIATE, UNBOUNDED, Constraints, Leaf, Node, Shared, Workspace)

cdef extern from "elementary.h" nogil:
    double exponential_2(double x) noexcept

# The factor of the gain of a monotone feature if the penalty forbids to split it: it is still split
# if no other feature can be.
cdef double MIN_FACTOR = 1e-15


# ------------------------------------------------------------------ interactions

cdef int mark_path(
    const Workspace* ws, const Leaf* leaf, const Constraints* constraints, int32_t* path_out,
) noexcept nogil:
    """List the distinct features above a leaf; returns how many.

    Adds the number of them that are in set s to ``scratch.hits[s]``.
    """
    cdef int node = leaf.node
    cdef int n = 0
    cdef int feature, i
    cdef int64_t k
    while node >= 0:
        feature = ws.nodes[node].feature
        node = ws.nodes[node].parent
        for i in range(n):
            if path_out[i] == feature:
                break
        else:
            path_out[n] = feature
            n += 1
            for k in range(
                constraints.feature_sets_start[feature],
                constraints.feature_sets_start[feature + 1],
            ):
                ws.scratch.hits[constraints.feature_sets[k]] += 1
    return n


cdef void mark_allowed(const Shared* shared, Workspace* ws, const Leaf* leaf) noexcept nogil:
    """Mark the features that may be split below a leaf in ``scratch.is_allowed``.

    They are those of its path, and those of each set that contains the whole path. Overwrites
    ``scratch.allowed``; ``scratch.hits`` is zero before and after.
    """
    cdef const Constraints* constraints = &shared.constraints
    cdef int32_t* path = ws.scratch.allowed
    cdef int n_path = mark_path(ws, leaf, constraints, path)
    cdef int i, s
    cdef int64_t k
    memset(ws.scratch.is_allowed, 0, shared.data.n_features)
    for i in range(n_path):
        ws.scratch.is_allowed[path[i]] = True
    for s in range(constraints.n_sets):
        if ws.scratch.hits[s] == n_path:
            for k in range(constraints.set_start[s], constraints.set_start[s + 1]):
                ws.scratch.is_allowed[constraints.set_features[k]] = True
        ws.scratch.hits[s] = 0


cdef int list_allowed(Workspace* ws) noexcept nogil:
    """List the tree's features that are marked in ``scratch.allowed``; returns how many."""
    cdef int n = 0
    cdef int i
    for i in range(ws.n_features):
        ws.scratch.allowed[n] = ws.features[i]
        n += ws.scratch.is_allowed[ws.features[i]]
    return n


# ------------------------------------------------------------------ neighbors

cdef BinRange bin_range(
    const Binned* data, const Workspace* ws, const Leaf* leaf, int feature,
) noexcept nogil:
    """The bins of a feature that lead to a leaf, by the nodes above it that split the feature.

    Missing values have the last bin, and are counted apart (``missing``).
    """
    cdef BinRange bins
    cdef const Node* ancestor
    cdef int node = leaf.node
    cdef bint is_left = leaf.is_left
    bins.missing = data.missing_bin[feature] >= 0
    bins.first = 0
    bins.last = data.n_bins[feature] - 1 - bins.missing
    while node >= 0:
        ancestor = &ws.nodes[node]
        if ancestor.feature == feature:
            bins = side(bins, ancestor.bin, ancestor.missing_left, is_left)
        is_left = ancestor.is_left
        node = ancestor.parent
    return bins


cdef inline BinRange side(BinRange bins, int cut, bint missing_left, bint is_left) noexcept nogil:
    """The bins of a range that are on one side of a cut: up to bin ``cut``, or after it."""
    if is_left:
        bins.last = min(bins.last, cut)
    else:
        bins.first = max(bins.first, cut + 1)
    bins.missing = bins.missing and missing_left == is_left
    return bins


cdef inline BinRange intersection(BinRange a, BinRange b) noexcept nogil:
    """The bins that two ranges share."""
    a.first = max(a.first, b.first)
    a.last = min(a.last, b.last)
    a.missing = a.missing and b.missing
    return a


cdef inline bint is_empty(BinRange bins) noexcept nogil:
    """Whether a range has neither bins nor missing values."""
    return bins.first > bins.last and not bins.missing


cdef inline BinRange shared_bins(BinRange leaf_bins, BinRange neighbor_bins) noexcept nogil:
    """The bins of a feature that a leaf shares with a neighbor.

    A cut of the leaf makes a child that has such bins a neighbor. If the neighbor differs in the
    feature itself, they share none, but both children become neighbors: the result is all bins of
    the leaf then.
    """
    cdef BinRange bins = intersection(leaf_bins, neighbor_bins)
    if is_empty(bins):
        return leaf_bins
    if bins.first > bins.last:
        # They share missing values alone: `meets` must not find numbers on either side of a cut.
        bins.first = 0x7FFFFFFF
        bins.last = -1
    return bins


cdef inline bint covers(BinRange bins, BinRange leaf_bins) noexcept nogil:
    """Whether a neighbor shares all bins of a leaf: no cut can separate a child from it.

    ``bins``: those that it shares (`shared_bins`); ``leaf_bins``: those of the leaf.
    """
    return (
        bins.first == leaf_bins.first and bins.last == leaf_bins.last
        and bins.missing == leaf_bins.missing)


cdef inline bint meets(BinRange bins, int cut, bint missing_left, bint is_left) noexcept nogil:
    """Whether some of the shared bins (from `shared_bins`) are on a side of a cut."""
    return (bins.first <= cut if is_left else bins.last > cut) or (
        bins.missing and missing_left == is_left)


cdef void relate_children(
    const Shared* shared, Workspace* ws, int index, const Leaf* parent,
) noexcept nogil:
    """Make the neighbors of a divided leaf neighbors of its children, if they share bins.

    ``index``: of the divided leaf, which becomes the left child; the right one is number
    ``ws.n_leaves``. ``parent``: a copy of the leaf with its split. In ``ws.neighbor_order``, row i
    and column j are 1 if the output of leaf j must be at least that of its neighbor i, -1 if at
    most, and 0 if they are not neighbors.
    """
    cdef Py_ssize_t stride = shared.settings.max_leaves
    cdef int right = ws.n_leaves
    cdef int cut = parent.best.bin
    cdef bint missing_left = parent.best.missing_left
    cdef bint categorical = shared.data.categorical[parent.best.feature]
    cdef BinRange leaf_bins, bins
    cdef int8_t* order = ws.neighbor_order
    cdef int neighbor, relation
    if not categorical:
        leaf_bins = bin_range(&shared.data, ws, parent, parent.best.feature)
    order[right * stride + right] = 0
    order[right * stride + index] = order[index * stride + right] = 0
    for neighbor in range(ws.n_leaves):
        if neighbor == index:
            continue
        relation = order[index * stride + neighbor]
        order[right * stride + neighbor] = relation
        order[neighbor * stride + right] = -relation
        if relation == 0 or categorical:
            continue
        bins = shared_bins(
            leaf_bins, bin_range(&shared.data, ws, &ws.leaves[neighbor], parent.best.feature))
        if not meets(bins, cut, missing_left, False):
            order[right * stride + neighbor] = order[neighbor * stride + right] = 0
        if not meets(bins, cut, missing_left, True):
            order[index * stride + neighbor] = order[neighbor * stride + index] = 0


cdef bint bound_by_neighbors(
    const Shared* shared, Workspace* ws, int index, int n_leaves,
) noexcept nogil:
    """Bound leaf ``index`` by the outputs of its neighbors; whether that changes its bounds.

    ``n_leaves``: only leaves with smaller numbers have outputs yet.
    """
    cdef Leaf* leaf = &ws.leaves[index]
    cdef const int8_t* order = ws.neighbor_order + index * <Py_ssize_t>shared.settings.max_leaves
    cdef double lower = -INFINITY
    cdef double upper = INFINITY
    cdef int neighbor
    cdef bint changed
    for neighbor in range(n_leaves):
        if order[neighbor] > 0:
            upper = min(upper, ws.leaves[neighbor].stats.output)
        elif order[neighbor] < 0:
            lower = max(lower, ws.leaves[neighbor].stats.output)
    changed = lower != leaf.stats.lower or upper != leaf.stats.upper
    leaf.stats.lower = lower
    leaf.stats.upper = upper
    return changed


# ------------------------------------------------------------------ growing

cdef void start_constraints(Workspace* ws) noexcept nogil:
    """Reset the constraints for a new tree."""
    cdef int i
    if ws.neighbor_order != NULL:
        ws.neighbor_order[0] = 0
    for i in range(ws.n_split_features):
        ws.bounds_index[ws.split_features[i]] = -1
    ws.n_split_features = 0


cdef void bound_feature(
    const Shared* shared, const Workspace* ws, const Leaf* leaf, int feature,
    FeatureBounds* bounds_out,
) noexcept nogil:
    """Find what bounds the children of a leaf if a feature is split.

    Neighbors that share all bins of the leaf bound both children. Those that share some are listed
    with these bins: which child they bound depends on the cut.
    """
    cdef const int8_t* order = ws.neighbor_order + (
        (leaf - ws.leaves) * <Py_ssize_t>shared.settings.max_leaves)
    cdef BinRange leaf_bins = bin_range(&shared.data, ws, leaf, feature)
    cdef PartialBound bound
    cdef int neighbor
    bounds_out.lower = -INFINITY
    bounds_out.upper = INFINITY
    bounds_out.n = 0
    for neighbor in range(ws.n_leaves):
        if order[neighbor] == 0:
            continue
        bound.value = ws.leaves[neighbor].stats.output
        bound.is_above = order[neighbor] > 0
        bound.shared = shared_bins(
            leaf_bins, bin_range(&shared.data, ws, &ws.leaves[neighbor], feature))
        if not covers(bound.shared, leaf_bins):
            bounds_out.partial[bounds_out.n] = bound
            bounds_out.n += 1
        elif bound.is_above:
            bounds_out.upper = min(bounds_out.upper, bound.value)
        else:
            bounds_out.lower = max(bounds_out.lower, bound.value)


cdef void bound_features(
    const Shared* shared, Workspace* ws, const Leaf* leaf, int side,
) noexcept nogil:
    """Find what bounds the children of a leaf, for each feature that a node of the tree splits.

    In other features, all leaves share all bins. ``side``: 0 or 1: the arrays of one of two
    siblings.
    """
    cdef FeatureBounds* bounds = ws.monotone[side].bounds
    cdef int i
    for i in range(ws.n_split_features):
        bounds[i].partial = ws.partial_bounds[side] + i * <Py_ssize_t>shared.settings.max_leaves
        bound_feature(shared, ws, leaf, ws.split_features[i], &bounds[i])


cdef double penalty_factor(double penalty, int depth) noexcept nogil:
    """The factor by which a penalty reduces the gain of a monotone feature (LightGBM's formula).

    ``penalty``: the option monotone_penalty; ``depth``: of the node, 0 at the root. The
    result is MIN_FACTOR in the first ``penalty`` levels, and approaches 1 below them.
    """
    if penalty >= depth + 1:
        return MIN_FACTOR
    if penalty <= 1:
        return 1 - penalty * exponential_2(-depth) + MIN_FACTOR
    return 1 - exponential_2(penalty - 1 - depth) + MIN_FACTOR


cdef void prepare_constraints(
    Shared* shared, Workspace* ws, const Leaf* leaf, int side,
) noexcept nogil:
    """Prepare the search of a leaf: factors of gains, and bounds by neighbors.

    ``side``: 0 or 1: the scratch arrays of one of two siblings.
    """
    cdef const Constraints* constraints = &shared.constraints
    cdef double* factor = ws.scratch.factor[side]
    cdef double penalty
    cdef int feature
    if constraints.bounding == ADVANCED:
        bound_features(shared, ws, leaf, side)
    if factor == NULL:  # all factors are 1
        return
    penalty = penalty_factor(constraints.penalty, leaf.depth) if constraints.penalty > 0 else 1.0
    for feature in range(shared.data.n_features):
        factor[feature] = constraints.factor[feature] if constraints.factor != NULL else 1.0
        if constraints.sign != NULL and constraints.sign[feature] != 0:
            factor[feature] *= penalty


cdef void add_split_feature(const Shared* shared, Workspace* ws, int feature) noexcept nogil:
    """Give a numeric feature a `FeatureBounds`, once a node splits it.

    Features that no node of the tree splits need none: all leaves share all of their bins.
    """
    if ws.bounds_index[feature] < 0 and not shared.data.categorical[feature]:
        ws.bounds_index[feature] = ws.n_split_features
        ws.split_features[ws.n_split_features] = feature
        ws.n_split_features += 1


cdef void bound_children(
    const Shared* shared, Workspace* ws, int index, const Leaf* parent, Leaf* left,
    Leaf* right,
) noexcept nogil:
    """Bound the outputs of two new leaves, before these are computed.

    ``index``: of the divided leaf, which the left child replaces; ``parent``: a copy of it.
    """
    left.stats.lower = right.stats.lower = parent.stats.lower
    left.stats.upper = right.stats.upper = parent.stats.upper
    if shared.constraints.bounding < INTERMEDIATE:
        return
    relate_children(shared, ws, index, parent)
    if shared.constraints.bounding == ADVANCED:
        add_split_feature(shared, ws, parent.best.feature)
        bound_by_neighbors(shared, ws, index, ws.n_leaves)
        bound_by_neighbors(shared, ws, ws.n_leaves, ws.n_leaves)


cdef void separate_at_middle(Leaf* low, Leaf* high) noexcept nogil:
    """Bound the outputs below two leaves by the mean of their outputs.

    No output below ``low`` may exceed one below ``high``.
    """
    cdef double middle = (low.stats.output + high.stats.output) / 2
    low.stats.upper = min(low.stats.upper, middle)
    high.stats.lower = max(high.stats.lower, middle)


cdef void order_children(
    const Shared* shared, Workspace* ws, int index, const Leaf* parent, Leaf* left,
    Leaf* right,
) noexcept nogil:
    """Bound the outputs below two new leaves by the outputs of these leaves.

    ``index``: of the left one; the right one is the newest leaf. They are neighbors if the split
    feature is monotone.
    """
    cdef Py_ssize_t stride = shared.settings.max_leaves
    cdef int last = ws.n_leaves - 1
    cdef int sign
    if shared.constraints.bounding == UNBOUNDED:
        return
    sign = shared.constraints.sign[parent.best.feature]
    if shared.constraints.bounding == BASIC:
        if sign > 0:
            separate_at_middle(left, right)
        elif sign < 0:
            separate_at_middle(right, left)
        return
    ws.neighbor_order[index * stride + last] = sign
    ws.neighbor_order[last * stride + index] = -sign
    bound_by_neighbors(shared, ws, index, ws.n_leaves)
    bound_by_neighbors(shared, ws, last, ws.n_leaves)


cdef int next_stale(
    const Shared* shared, Workspace* ws, int index, int first,
) noexcept nogil:
    """The next leaf from ``first`` on that must be searched again; -1: there is none.

    The newest leaves are ``index`` and the last one. A leaf must be searched again if it is in the
    heap and they have changed its bounds or, under ADVANCED bounds, perhaps those of its children.
    """
    cdef Py_ssize_t stride = shared.settings.max_leaves
    cdef int right = ws.n_leaves - 1
    cdef int leaf
    for leaf in range(first, right):
        if leaf == index or not (
            ws.neighbor_order[index * stride + leaf] or ws.neighbor_order[right * stride + leaf]
        ):
            continue
        if bound_by_neighbors(shared, ws, leaf, ws.n_leaves) or (
            shared.constraints.bounding == ADVANCED
        ):
            if ws.leaves[leaf].best.gain > 0:
                return leaf
    return -1


cdef void bound_leaves(const Shared* shared, Workspace* ws) noexcept nogil:
    """Bound the leaves of a grown tree, so that their values are in the order of their outputs.

    The value of a leaf is computed later, from finer sums than its output. If two neighbors are
    bounded by the mean of their outputs, rounding cannot change their order.
    """
    cdef Py_ssize_t stride = shared.settings.max_leaves
    cdef int low, high
    if shared.constraints.bounding < INTERMEDIATE:
        return
    for low in range(ws.n_leaves):
        ws.leaves[low].stats.lower = -INFINITY
        ws.leaves[low].stats.upper = INFINITY
    for low in range(ws.n_leaves):
        for high in range(ws.n_leaves):
            if ws.neighbor_order[low * stride + high] > 0:
                separate_at_middle(&ws.leaves[low], &ws.leaves[high])
