"""Nodes of trees as dicts, for pictures and texts of trees."""

from __future__ import annotations

import numpy as np

from skgoss.plotting.tree_labels import Labels

BAD = ["<script>alert(1)</script>", '"onload="x', "a&b;\x00\x1b\ud83d", "]]>", "</svg>"]
NAMES = ["age", "a name of thirty characters or more", "city", "x", "$ per m²"]


def node(left, right, **changes):
    values = {
        "split_index": 0,
        "split_feature": 0,
        "split_gain": 12.25,
        "threshold": 0.5,
        "decision_type": "<=",
        "default_left": False,
        "missing_type": "None",
        "internal_value": 0.25,
        "internal_weight": 3,
        "internal_count": 100,
        "left_child": left,
        "right_child": right,
    }
    return values | changes


def leaf(index, value=0.125, **more):
    known = {"leaf_value": value, "leaf_weight": 2.5, "leaf_count": 40}
    return {"leaf_index": index, **known, **more}


def grown(n_leaves, seed=0):
    """A tree of random shape."""
    rng = np.random.default_rng(seed)
    parts = [leaf(number, rng.normal()) for number in range(n_leaves)]
    for number in reversed(range(n_leaves - 1)):
        left = parts.pop(int(rng.integers(len(parts))))
        right = parts.pop(int(rng.integers(len(parts))))
        changes = {
            "split_index": number,
            "split_feature": int(rng.integers(len(NAMES))),
            "threshold": rng.normal() * 10.0 ** rng.integers(-6, 12),
            "missing_type": str(rng.choice(["None", "NaN", "Zero"])),
            "default_left": bool(rng.integers(2)),
        }
        parts.append(node(left, right, **changes))
    return parts[0]


def labels(**changes):
    values = {"names": NAMES, "categories": {}, "constraints": [], "show_info": []}
    values |= {"precision": 3, "max_category_values": 10}
    return Labels(**values | changes)
