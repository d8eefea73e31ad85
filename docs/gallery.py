"""The gallery of examples: their order, and what they may leave."""

from __future__ import annotations

from typing import Any

from sklearn import set_config

ORDER = [
    "quickstart.py",
    "flight_delays.py",
    "accurate.py",
    "early_stopping.py",
    "grid_search.py",
    "optuna_pruning.py",
    "train_and_cv.py",
    "plots.py",
    "explain_flights.py",
    "intervals.py",
    "survival.py",
    "monotone_constraints.py",
    "custom_objective.py",
    "ranking.py",
    "sparse_text.py",
    "save_and_load.py",
    "onnx_pipeline.py",
    "larger_than_memory.py",
    "dask_flights.py",
]


class Order:
    """Sort examples: from the first steps to special topics, others at the end."""

    def __init__(self, folder: str) -> None:
        pass

    def __call__(self, name: str) -> tuple[int, str]:
        """Return what examples are sorted by."""
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def reset(conf: dict[str, Any], name: str) -> None:
    """Undo what an example has set for the whole process."""
    set_config(enable_metadata_routing=False)
