"""The modules and headers of the engine lie in layers, and each uses those below it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import skgoss

ENGINE = Path(skgoss.__file__).parent / "_engine"

# From top to bottom. Modules are named by folder, and headers by file.
LAYERS = tuple(
    frozenset(layer.split())
    for layer in (
        # The trees of a fit; their lines; their use on other rows of the same bins.
        "training.grower",
        "training.linear_leaves",
        "training.score",
        "training.grower_inputs training.grower_memory training.shared_trees",
        # One tree: its leaves are divided, and their children searched.
        "training.tree",
        "training.children",
        "training.search training.encoding training.leaf_values",
        "training.kernel_collectives",
        "training.partition",
        "training.histogram",
        # What a tree consists of; what it may not do; what threads share.
        "training.constraint_kernels training.tasks training.forest",
        "training.workspace",
        # Kernels of training, which do not use trees.
        "training.feature_subset",
        "training.split",
        "objectives.ranking_kernels objectives.metric_kernels objectives.loss_kernels",
        "objectives.percentile_kernels training.error_sums",
        "training.layout training.sampling_kernels training.arena objectives.exact_sum",
        "split.h",
        "category_splits.h encoding.h histogram.h leaf_values.h split_avx512.h",
        "gains.h metric_kernels.h ranking_kernels.h distribution_kernels.h",
        "error_sums.h",
        "fixed_point.h loss_kernels.h exact_sum.h sampling_kernels.h partition.h",
        "feature_subset.h percentile_kernels.h shared_trees.h",
        "layout.h",
        # Predictions.
        "model.few_rows model.contribution_kernels model.conformal_kernels",
        "model.contribution_tiles",
        "model.tree_steps model.quadrature",
        "objectives.function_kernels",
        "model_files.decimals model_files.lines",
        "model.predict model.linear_kernels",
        "model.leaves objectives.link_kernels",
        "predict.h contribution_kernels.h linear_kernels.h link_kernels.h decimals.h",
        "function_kernels.h tree_steps.h",
        "leaves.h gamma_functions.h",
        "leaf_exits.h",
        # Binned data.
        "binning.store binning.packing binning.bundling binning.listed_rows",
        "binning.bin_bounds binning.bin_search binning.category_kernels",
        "binning.radix_sort binning.column_values",
        "binning.gather_rows binning.drawn_rows columns.transposition columns.arrow",
        "columns.computed_kernels",
        "columns.column_kernels columns.code_kernels",
        "binning.stored_columns",
        # Exponentials; threads, signals, random numbers, instruction sets.
        "elementary.h",
        "runtime signals threads random locks",
        "atomics bits",
        "pool.h",
        "simd.h signals.h bits.h atomics.h platform.h task_list.h",
    )
)

USED_MODULE = re.compile(r"^\s*(?:from|c?import)\s+(skgoss[\w.]*)", re.MULTILINE)
USED_HEADER = re.compile(
    r'^\s*(?:#\s*include|cdef extern from)\s+"([^"]+)"', re.MULTILINE
)


def name_of(path: Path, engine: Path) -> str:
    if path.suffix == ".h":
        return path.name
    return ".".join(path.relative_to(engine).with_suffix("").parts)


def used(path: Path) -> Iterator[str]:
    """The modules and headers that a source file names, but for those of others."""
    text = path.read_text(encoding="utf-8")
    for module in USED_MODULE.findall(text):
        yield module.removeprefix("skgoss._engine.")
    yield from (name for name in USED_HEADER.findall(text) if name != "Python.h")


def arrows(engine: Path) -> set[tuple[str, str]]:
    """Who uses whom. The .pyx and the .pxd of a module are one."""
    return {
        (name_of(path, engine), other)
        for path in engine.rglob("*.*")
        if path.suffix in (".pyx", ".pxd", ".h")
        for other in used(path)
        if other != name_of(path, engine)
    }


def wrong_arrows(engine: Path) -> list[str]:
    """The arrows that do not point to a lower layer, or to what has no layer."""
    depth = {name: i for i, layer in enumerate(LAYERS) for name in layer}
    return sorted(
        f"{name} -> {other}"
        for name, other in arrows(engine)
        if not depth.get(name, len(LAYERS)) < depth.get(other, -1)
    )


def test_each_module_uses_lower_layers_alone():
    assert wrong_arrows(ENGINE) == []


def test_the_table_lists_each_module_once():
    listed = sorted(name for layer in LAYERS for name in layer)
    assert listed == sorted(
        {
            name_of(path, ENGINE)
            for path in ENGINE.rglob("*.*")
            if path.suffix in (".pyx", ".pxd", ".h") and path.stem != "__init__"
        }
    )


@pytest.mark.parametrize(
    ("file", "line", "arrow"),
    [
        (
            "training/workspace.pxd",
            "from skgoss._engine.training.tree cimport grow_trees",
            "training.workspace -> training.tree",
        ),
        (
            "model/leaves.pyx",
            "from skgoss._engine.training.layout cimport (\n    Binned)",
            "model.leaves -> training.layout",
        ),
        ("simd.h", '#include "layout.h"', "simd.h -> layout.h"),
        (
            "columns/column_kernels.pxd",
            'cdef extern from "split.h" nogil:\n    enum: SPLIT_WIDTH',
            "columns.column_kernels -> split.h",
        ),
        # Within a layer.
        (
            "training/search.pyx",
            "from skgoss._engine.training.encoding cimport read_rounds",
            "training.search -> training.encoding",
        ),
        (
            "binning/store.pyx",
            "    import skgoss.binning.storage",
            "binning.store -> skgoss.binning.storage",
        ),
    ],
)
def test_a_wrong_arrow_is_found(tmp_path, file, line, arrow):
    engine = tmp_path / "engine"
    shutil.copytree(
        ENGINE, engine, ignore=lambda folder, names: {"__pycache__"} & set(names)
    )
    with (engine / file).open("a", encoding="utf-8") as source:
        source.write(f"\n{line}\n")
    assert wrong_arrows(engine) == [arrow]
