"""The facts that a bug report needs: ``python -m skgoss``."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import skgoss
from skgoss._engine import runtime
from skgoss.utils import thread_counts

REQUIRED = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "narwhals")
OPTIONAL = (
    "pandas",
    "polars",
    "pyarrow",
    "dask",
    "matplotlib",
    "igraph",
    "graphviz",
    "onnx",
    "onnxruntime",
    "skl2onnx",
    "shap",
)


def versions(packages: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The versions of the packages that are installed."""
    for package in packages:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue


def facts() -> Iterator[tuple[str, str]]:
    """The facts as names and values, in the order of printing."""
    yield "skgoss", getattr(skgoss, "__version__", "not installed")
    yield "folder", os.path.dirname(skgoss.__file__)
    yield "Python", f"{platform.python_implementation()} {platform.python_version()}"
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    yield "free-threaded", "yes" if free_threaded else "no"
    yield from versions(REQUIRED)
    yield from versions(OPTIONAL)
    yield "platform", platform.platform()
    yield "processor", f"{platform.machine()}, {os.cpu_count()} cores"
    yield "instructions", runtime.simd()
    yield "SKGOSS_SIMD", os.environ.get("SKGOSS_SIMD", "not set")
    yield "threads", str(thread_counts.max_threads())
    yield "OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "not set")
    yield "compiler", runtime.compiler()
    yield "bounds checked", "yes" if runtime.is_checked() else "no"


def main() -> int:
    """Print the facts."""
    lines = list(facts())
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        print(f"{name:{width}}  {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
