"""What the reader and the writer of LightGBM's text format share."""

from __future__ import annotations

# The line of skgoss, the last of the parameters: JSON follows this beginning. LightGBM
# keeps the line when it saves a file again. It takes it for a parameter without a
# value, which it skips without a warning.
OWN = "[skgoss: ]:"
# A line of the head that announces our line: without that, the file was cut short.
# LightGBM drops it when it saves a file again.
ANNOUNCEMENT = "skgoss"
PANDAS = "pandas_categorical:"
PARAMETERS = "parameters:", "end of parameters"
END_OF_TREES = "end of trees"

# The numbers of a tree's nodes and leaves, in the order of the lines.
NODE_LINES = (
    *("split_feature", "split_gain", "threshold", "decision_type"),
    *("left_child", "right_child"),
)
LEAF_LINES = ("leaf_value", "leaf_weight", "leaf_count")
INNER_LINES = ("internal_value", "internal_weight", "internal_count")
