from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t

from skgoss._engine.training.layout cimport Binned, Encoding, Histogram, Sums

cdef extern from "gains.h" nogil:
    const double HESSIAN_EPSILON
    const int SCRATCH_PADDING
    const int SCRATCH_CUTS
    const int SCRATCH_ARRAYS
    const int SCRATCH_BOUNDED
    enum:
        NONE_MISSING

    ctypedef struct SplitRules:
        double gradient_unit
        double hessian_unit
        double l1
        double l2
        double max_delta_step
        double path_smooth
        double min_hessian
        double min_gain
        int64_t min_count
        int limits_hessians
        double cat_smooth
        double cat_l2
        int max_cat_threshold
        int max_cat_to_onehot
        int64_t min_data_per_group
        int bounded

    ctypedef struct Split:
        double gain
        int32_t feature
        int32_t bin               # of a cut: the last bin that goes left
        int32_t missing_left

    ctypedef struct NodeStats:
        Sums sums
        double output
        double gain
        double lower
        double upper
        double min_child_hessian

    ctypedef struct BinRange:
        int32_t first
        int32_t last
        int32_t missing

    ctypedef struct PartialBound:
        BinRange shared
        int32_t is_above
        double value

    ctypedef struct FeatureBounds:
        double lower
        double upper
        PartialBound* partial
        int n

    ctypedef struct MonotoneBounds:
        const int8_t* sign
        const int32_t* bounds_index
        FeatureBounds* bounds

    double clamp(double x, double lower, double upper)
    double leaf_step(double output, double learning_rate, double self_concordance)
    double leaf_output(double gradient, double hessian, double count,
                       double parent_output, const SplitRules* rules)
    NodeStats node_stats(
        Sums sums, double parent_output, double lower, double upper,
        const SplitRules* rules)
    ctypedef struct Bins:
        const int64_t* gradient
        const int64_t* hessian
        const int32_t* count
        int n_bins
        int missing_bin
        const uint64_t* occupied

    ctypedef struct FeatureSet:
        const int32_t* features
        const uint8_t* searched
        uint8_t* splittable_out
        const int32_t* cut
        const double* factor
        const MonotoneBounds* monotone
        int n
        int consecutive

    Bins feature_bins(
        const Binned* data, const Histogram* histogram, int feature, const Sums* node,
        const Encoding* encoding, int64_t* buffer)
    int bins_in_set(const Bins* bins, int first, int last, int32_t* bin_out)
    Sums bin_sums(const Bins* bins, int b, const Encoding* encoding)

cdef extern from "category_splits.h" nogil:
    size_t CATEGORY_SCRATCH(int n_bins)
    Sums add_sums(Sums a, Sums b)
    double categories_l2(int n_bins, const SplitRules* rules)
    int search_categories(
        const Bins* bins, const Encoding* encoding, int feature, double factor,
        const NodeStats* node, const SplitRules* rules, double* scratch, Split* best_out)
    Sums category_set(
        const Bins* bins, const Encoding* encoding, const NodeStats* node,
        const SplitRules* rules, const Split* split, double* scratch, uint8_t* goes_left_out)


cdef SplitRules split_rules(settings) except *

cdef void search_features(
    const Binned* data, const Encoding* encoding, const Histogram* histogram,
    const FeatureSet* features, const NodeStats* node, const SplitRules* rules,
    double* scratch, Split* best_out,
) noexcept nogil
