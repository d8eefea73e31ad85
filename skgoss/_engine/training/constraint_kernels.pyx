"""What the options forbid a tree: features together on a path, outputs out of order.

Under monotone constraints a tree must be monotone in some features. Two leaves are
neighbors if a row can go from one to the other by a change of such a feature alone: they
share bins of all other features, and are separated at a node that splits it. A tree is monotone if
and only if the outputs of all pairs of neighbors are in order. Leaves whose outputs are
in order stay so when one of them is split, as long as both of its children keep to the
outputs of its neighbors: bounding is INTERMEDIATE. If each child keeps to its own ones, it
is ADVANCED. It is enough, too, that all leaves below a node that splits a monotone feature
keep to the middle of its children's outputs, each on its side: BASIC.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from skgoss._engine.training.layout cimport Binned
from skgoss._engine.training.split cimport BinRange, FeatureBounds, PartialBound
from skgoss._engine.training.workspace cimport (
    ADVANCED, BASIC, INTERMEDIATE, UNBOUNDED, Constraints, Leaf, Node, Shared, Workspace)

cdef extern from "elementary.h" nogil:
    double exponential_2(double x) noexcept

# What remains of the gain of a monotone feature where the penalty forbids it: it is split
# there if nothing else can be.
cdef double LEAST_FACTOR = 1e-15


# ------------------------------------------------------------------ interactions

cdef int mark_path(
    const Workspace* ws, const Leaf* leaf, const Constraints* limits, int32_t* path_out,
) noexcept nogil:
    """The distinct features above a leaf; counts in `scratch.hits` how many of them a set has."""
    cdef int node = leaf.node
    cdef int n = 0
    cdef int feature, i
    cdef int64_t at
    while node >= 0:
        feature = ws.nodes[node].feature
        node = ws.nodes[node].parent
        for i in range(n):
            if path_out[i] == feature:
                break
        else:
            path_out[n] = feature
            n += 1
            for at in range(limits.sets_start[feature], limits.sets_start[feature + 1]):
                ws.scratch.hits[limits.sets_of[at]] += 1
    return n


cdef int allowed_features(
    const Shared* shared, Workspace* ws, const Leaf* leaf, int32_t* allowed_out,
) noexcept nogil:
    """The tree's features that may be split below a leaf; returns how many.

    They are those above it and those of each set that holds all of these.
    """
    cdef const Constraints* limits = &shared.constraints
    cdef int n_path = mark_path(ws, leaf, limits, allowed_out)
    cdef int n = 0
    cdef int i, s
    cdef int64_t at
    memset(ws.scratch.may_use, 0, shared.data.n_features)
    for i in range(n_path):
        ws.scratch.may_use[allowed_out[i]] = True
    for s in range(limits.n_sets):
        if ws.scratch.hits[s] == n_path:
            for at in range(limits.set_start[s], limits.set_start[s + 1]):
                ws.scratch.may_use[limits.set_features[at]] = True
        ws.scratch.hits[s] = 0
    for i in range(ws.n_features):
        allowed_out[n] = ws.features[i]
        n += ws.scratch.may_use[ws.features[i]]
    return n


# ------------------------------------------------------------------ neighbors

cdef BinRange bin_range(
    const Binned* data, const Workspace* ws, const Leaf* leaf, int feature,
) noexcept nogil:
    """The bins of a feature that lead to a leaf. Missing values have the last bin."""
    cdef BinRange bins
    cdef const Node* above
    cdef int node = leaf.node
    cdef bint is_left = leaf.is_left
    bins.missing = data.missing_bin[feature] >= 0
    bins.first = 0
    bins.last = data.n_bins[feature] - 1 - bins.missing
    while node >= 0:
        above = &ws.nodes[node]
        if above.feature == feature:
            bins = side(bins, above.bin, above.missing_left, is_left)
        is_left = above.is_left
        node = above.parent
    return bins


cdef inline BinRange side(BinRange bins, int cut, bint missing_left, bint is_left) noexcept nogil:
    """What a cut leaves of some bins on one side."""
    if is_left:
        bins.last = min(bins.last, cut)
    else:
        bins.first = max(bins.first, cut + 1)
    bins.missing = bins.missing and missing_left == is_left
    return bins


cdef inline BinRange common(BinRange a, BinRange b) noexcept nogil:
    """The bins that two ranges share."""
    a.first = max(a.first, b.first)
    a.last = min(a.last, b.last)
    a.missing = a.missing and b.missing
    return a


cdef inline bint is_empty(BinRange bins) noexcept nogil:
    return bins.first > bins.last and not bins.missing


cdef inline BinRange meeting(BinRange of_leaf, BinRange of_neighbor) noexcept nogil:
    """The bins of a feature by which a neighbor meets either side of a cut of a leaf.

    Neighbors along the feature itself share no bins of it, but have to do with both sides.
    """
    cdef BinRange bins = common(of_leaf, of_neighbor)
    if is_empty(bins):
        return of_leaf
    if bins.first > bins.last:
        bins.first = 0x7FFFFFFF
        bins.last = -1
    return bins


cdef inline bint covers(BinRange bins, BinRange of_leaf) noexcept nogil:
    """Whether there is no side of a cut of a leaf that its neighbor does not meet."""
    return (
        bins.first == of_leaf.first and bins.last == of_leaf.last
        and bins.missing == of_leaf.missing)


cdef inline bint meets(BinRange bins, int cut, bint missing_left, bint is_left) noexcept nogil:
    """Whether some of the shared bins are on one side of a cut."""
    return (bins.first <= cut if is_left else bins.last > cut) or (
        bins.missing and missing_left == is_left)


cdef void relate_children(
    const Shared* shared, Workspace* ws, int index, const Leaf* parent,
) noexcept nogil:
    """The neighbors of a leaf become those of its children that they meet."""
    cdef Py_ssize_t stride = shared.settings.max_leaves
    cdef int right = ws.n_leaves
    cdef int cut = parent.best.bin
    cdef bint missing_left = parent.best.missing_left
    cdef bint categorical = shared.data.categorical[parent.best.feature]
    cdef BinRange of_leaf, bins
    cdef int other, relation
    if not categorical:
        of_leaf = bin_range(&shared.data, ws, parent, parent.best.feature)
    ws.above[right * stride + right] = 0
    ws.above[right * stride + index] = ws.above[index * stride + right] = 0
    for other in range(ws.n_leaves):
        if other == index:
            continue
        relation = ws.above[index * stride + other]
        ws.above[right * stride + other] = relation
        ws.above[other * stride + right] = -relation
        if relation == 0 or categorical:
            continue
        bins = meeting(
            of_leaf, bin_range(&shared.data, ws, &ws.leaves[other], parent.best.feature))
        if not meets(bins, cut, missing_left, False):
            ws.above[right * stride + other] = ws.above[other * stride + right] = 0
        if not meets(bins, cut, missing_left, True):
            ws.above[index * stride + other] = ws.above[other * stride + index] = 0


cdef bint bound_by_neighbors(
    const Shared* shared, Workspace* ws, int index, int n_leaves,
) noexcept nogil:
    """Bound a leaf by the outputs of its neighbors; whether that changes its bounds."""
    cdef Leaf* leaf = &ws.leaves[index]
    cdef const signed char* above = ws.above + index * <Py_ssize_t>shared.settings.max_leaves
    cdef double lower = -INFINITY
    cdef double upper = INFINITY
    cdef int other
    cdef bint changed
    for other in range(n_leaves):
        if above[other] > 0:
            upper = min(upper, ws.leaves[other].stats.output)
        elif above[other] < 0:
            lower = max(lower, ws.leaves[other].stats.output)
    changed = lower != leaf.stats.lower or upper != leaf.stats.upper
    leaf.stats.lower = lower
    leaf.stats.upper = upper
    return changed


# ------------------------------------------------------------------ growing

cdef void start_constraints(Workspace* ws) noexcept nogil:
    """Forget the bounds of the last tree."""
    cdef int i
    if ws.above != NULL:
        ws.above[0] = 0
    for i in range(ws.n_split_features):
        ws.row_of[ws.split_features[i]] = -1
    ws.n_split_features = 0


cdef void fill_row(
    const Shared* shared, const Workspace* ws, const Leaf* leaf, int feature,
    FeatureBounds* row_out,
) noexcept nogil:
    """What bounds the children of a leaf if a feature is split."""
    cdef const signed char* above = ws.above + (
        (leaf - ws.leaves) * <Py_ssize_t>shared.settings.max_leaves)
    cdef BinRange of_leaf = bin_range(&shared.data, ws, leaf, feature)
    cdef PartialBound bound
    cdef int other
    row_out.lower = -INFINITY
    row_out.upper = INFINITY
    row_out.n = 0
    for other in range(ws.n_leaves):
        if above[other] == 0:
            continue
        bound.value = ws.leaves[other].stats.output
        bound.is_above = above[other] > 0
        bound.shared = meeting(
            of_leaf, bin_range(&shared.data, ws, &ws.leaves[other], feature))
        if not covers(bound.shared, of_leaf):
            row_out.partial[row_out.n] = bound
            row_out.n += 1
        elif bound.is_above:
            row_out.upper = min(row_out.upper, bound.value)
        else:
            row_out.lower = max(row_out.lower, bound.value)


cdef void fill_rows(
    const Shared* shared, Workspace* ws, const Leaf* leaf, int side,
) noexcept nogil:
    """Find what bounds the children of a leaf, for each feature that may be split."""
    cdef FeatureBounds* rows = ws.monotone[side].rows
    cdef int row
    for row in range(ws.n_split_features):
        rows[row].partial = ws.partial_bounds[side] + row * <Py_ssize_t>shared.settings.max_leaves
        fill_row(shared, ws, leaf, ws.split_features[row], &rows[row])


cdef double penalty_factor(double penalty, int depth) noexcept nogil:
    """What a penalty leaves of the gain of a monotone feature (LightGBM's formula)."""
    if penalty >= depth + 1:
        return LEAST_FACTOR
    if penalty <= 1:
        return 1 - penalty * exponential_2(-depth) + LEAST_FACTOR
    return 1 - exponential_2(penalty - 1 - depth) + LEAST_FACTOR


cdef void prepare_constraints(
    Shared* shared, Workspace* ws, const Leaf* leaf, int side,
) noexcept nogil:
    """What the search of a leaf needs: factors of gains, and neighbors."""
    cdef const Constraints* limits = &shared.constraints
    cdef double* factor = ws.scratch.factor[side]
    cdef double penalty
    cdef int feature
    if limits.bounding == ADVANCED:
        fill_rows(shared, ws, leaf, side)
    if factor == NULL:
        return
    penalty = penalty_factor(limits.penalty, leaf.depth) if limits.penalty > 0 else 1.0
    for feature in range(shared.data.n_features):
        factor[feature] = limits.factor[feature] if limits.factor != NULL else 1.0
        if limits.sign != NULL and limits.sign[feature] != 0:
            factor[feature] *= penalty


cdef void add_split_feature(const Shared* shared, Workspace* ws, int feature) noexcept nogil:
    """Give a feature a row of extents."""
    if ws.row_of[feature] < 0 and not shared.data.categorical[feature]:
        ws.row_of[feature] = ws.n_split_features
        ws.split_features[ws.n_split_features] = feature
        ws.n_split_features += 1


cdef void bound_children(
    const Shared* shared, Workspace* ws, int index, const Leaf* parent, Leaf* left,
    Leaf* right,
) noexcept nogil:
    """The bounds of the outputs of two new leaves, before these are known."""
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
    """Keep all that comes below two leaves on its side of the middle of their outputs."""
    cdef double middle = (low.stats.output + high.stats.output) / 2
    low.stats.upper = min(low.stats.upper, middle)
    high.stats.lower = max(high.stats.lower, middle)


cdef void order_children(
    const Shared* shared, Workspace* ws, int index, const Leaf* parent, Leaf* left,
    Leaf* right,
) noexcept nogil:
    """Bound all that comes below two new leaves, by their outputs."""
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
    ws.above[index * stride + last] = sign
    ws.above[last * stride + index] = -sign
    bound_by_neighbors(shared, ws, index, ws.n_leaves)
    bound_by_neighbors(shared, ws, last, ws.n_leaves)


cdef int next_stale(
    const Shared* shared, Workspace* ws, int index, int first,
) noexcept nogil:
    """The next leaf from ``first`` on that the newest split bounds anew; -1: no more.

    The newest leaves are ``index`` and the last one. Only leaves that wait to be split
    are of interest.
    """
    cdef Py_ssize_t stride = shared.settings.max_leaves
    cdef int right = ws.n_leaves - 1
    cdef int leaf
    for leaf in range(first, right):
        if leaf == index or not (
            ws.above[index * stride + leaf] or ws.above[right * stride + leaf]
        ):
            continue
        if bound_by_neighbors(shared, ws, leaf, ws.n_leaves) or (
            shared.constraints.bounding == ADVANCED
        ):
            if ws.leaves[leaf].best.gain > 0:
                return leaf
    return -1


cdef void bound_leaves(const Shared* shared, Workspace* ws) noexcept nogil:
    """Bound the leaves of a grown tree, so that their values have the order of their outputs."""
    cdef Py_ssize_t stride = shared.settings.max_leaves
    cdef int low, high
    if shared.constraints.bounding < INTERMEDIATE:
        return
    for low in range(ws.n_leaves):
        ws.leaves[low].stats.lower = -INFINITY
        ws.leaves[low].stats.upper = INFINITY
    for low in range(ws.n_leaves):
        for high in range(ws.n_leaves):
            if ws.above[low * stride + high] > 0:
                separate_at_middle(&ws.leaves[low], &ws.leaves[high])
