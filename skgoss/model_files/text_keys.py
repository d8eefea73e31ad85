"""The lines of LightGBM's text format that the reader and the writer share."""

from __future__ import annotations

# The line that only skgoss reads, the last of the parameters: JSON follows this key.
# LightGBM keeps the line when it saves a file again: to it, this is a parameter without
# a value, which it skips without a warning.
SKGOSS_LINE = "[skgoss: ]:"
# A key of the header that announces this line: without the line, the file was cut
# short. LightGBM drops the key when it saves a file again.
SKGOSS_KEY = "skgoss"
PANDAS_CATEGORICAL = "pandas_categorical:"
PARAMETERS = "parameters:", "end of parameters"
END_OF_TREES = "end of trees"

# The arrays of a tree, in the order of their lines.
NODE_LINES = (
    "split_feature",
    "split_gain",
    "threshold",
    "decision_type",
    "left_child",
    "right_child",
)
LEAF_LINES = ("leaf_value", "leaf_weight", "leaf_count")
INTERNAL_LINES = ("internal_value", "internal_weight", "internal_count")
SET_LINES = ("cat_boundaries", "cat_threshold")
LINEAR_LINES = ("leaf_const", "num_features", "leaf_features", "leaf_coeff")

# The keys of the lines of a tree, in their order.
TREE_LINES = (
    *("Tree", "num_leaves", "num_cat"),
    *(*NODE_LINES, *LEAF_LINES, *INTERNAL_LINES),
    *(*SET_LINES, "is_linear", *LINEAR_LINES, "shrinkage"),
)
