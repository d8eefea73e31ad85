"""The options of the split search, and its compiled forms: one for each set of options."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

import numpy as np

from skgoss._engine.training.layout cimport Binned, Encoding, Histogram, Sums

cdef extern from "split.h" nogil:
    void search_compiled "search_features"(
        const Binned* data, const Encoding* encoding, const Histogram* histogram,
        const FeatureSet* features, const NodeStats* node, const SplitRules* rules,
        double* scratch, Split* best_out)


cdef SplitRules split_rules(settings) except *:
    """The rules by the options of the engine, for sums in units of one."""
    cdef SplitRules rules
    rules.gradient_unit = rules.hessian_unit = 1.0
    rules.l1 = settings.reg_alpha
    rules.l2 = settings.reg_lambda
    rules.max_delta_step = settings.max_delta_step or INFINITY
    rules.path_smooth = settings.path_smooth
    rules.min_hessian = settings.min_child_weight
    rules.min_gain = settings.min_split_gain
    rules.min_count = max(settings.min_child_samples, 1)
    rules.limits_hessians = True
    rules.cat_smooth = settings.cat_smooth
    rules.cat_l2 = settings.cat_l2
    rules.max_cat_threshold = settings.max_cat_threshold
    rules.max_cat_to_onehot = settings.max_cat_to_onehot
    rules.min_data_per_group = settings.min_data_per_group
    rules.bounded = False
    return rules


cdef void search_features(
    const Binned* data, const Encoding* encoding, const Histogram* histogram,
    const FeatureSet* features, const NodeStats* node, const SplitRules* rules,
    double* scratch, Split* best_out,
) noexcept nogil:
    """Improve ``best_out`` by the best split of some features; ties go to the first."""
    search_compiled(data, encoding, histogram, features, node, rules, scratch, best_out)


def best_categories(
    const int64_t[::1] gradient, const int64_t[::1] hessian, const int32_t[::1] count,
    settings, double unit=1.0,
) -> tuple[float, NDArray[np.bool_]]:
    """Find the categories of a node whose rows had best go left.

    ``gradient`` and ``hessian``, (n_bins,), are sums by category, in units; bin 0 is missing,
    rare or unknown. Returns the gain above that of the node as a leaf, 0.0 if no split gains
    anything, and which bins go left, (n_bins,), bool. ValueError if the sums are not of equal
    length.
    """
    cdef int n_bins = gradient.shape[0]
    cdef Bins bins
    cdef Encoding encoding
    cdef Split split
    cdef NodeStats node
    cdef SplitRules rules = split_rules(settings)
    cdef Sums sums
    cdef int b
    rules.gradient_unit = rules.hessian_unit = unit
    if n_bins == 0 or hessian.shape[0] != n_bins or count.shape[0] != n_bins:
        raise ValueError("gradient, hessian and count must have one entry for each bin")
    cdef double[::1] scratch = np.empty(CATEGORY_SCRATCH(n_bins))
    goes_left = np.zeros(n_bins, dtype=np.bool_)
    cdef uint8_t[::1] goes_left_out = goes_left.view(np.uint8)
    memset(&encoding, 0, sizeof(Encoding))
    memset(&sums, 0, sizeof(Sums))
    memset(&split, 0, sizeof(Split))
    bins.gradient = &gradient[0]
    bins.hessian = &hessian[0]
    bins.count = &count[0]
    bins.n_bins = n_bins
    bins.missing_bin = -1
    bins.occupied = NULL
    for b in range(n_bins):
        sums = add_sums(sums, bin_sums(&bins, b, &encoding))
    node = node_stats(sums, 0.0, -INFINITY, INFINITY, &rules)
    with nogil:
        search_categories(&bins, &encoding, 0, 1.0, &node, &rules, &scratch[0], &split)
        if split.gain > 0:
            category_set(
                &bins, &encoding, &node, &rules, &split, &scratch[0], &goes_left_out[0])
    return split.gain, goes_left
