"""The golden models, as other processors and C libraries would compute them."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator

from instrumented import run

# The kernels of OpenBLAS, and what the processor must have for each.
CORES = {
    "Prescott": "SSE3",
    "Nehalem": "SSE42",
    "Sandybridge": "AVX",
    "Haswell": "FMA3",
    "Zen": "FMA3",
    "SkylakeX": "AVX512_SKX",
    "Cooperlake": "AVX512BF16",
    "ARMV8": "ASIMD",
    "NEOVERSEN1": "ASIMDDP",
}
# The functions of glibc that use these have other last bits.
OF_GLIBC = ("FMA", "AVX2", "FMA4", "AVX512F", "FMA_Usable", "AVX2_Usable")


def environments() -> Iterator[dict[str, str]]:
    """Variables that hide a part of what this machine has."""
    from numpy._core import _multiarray_umath as numpy_core

    has = {name for name, found in numpy_core.__cpu_features__.items() if found}
    for level in ("plain", "avx2", "avx512"):
        yield {"SKGOSS_SIMD": level}
    used = [name for name in numpy_core.__cpu_dispatch__ if name in has]
    for first in reversed(range(len(used))):
        yield {"NPY_DISABLE_CPU_FEATURES": " ".join(used[first:])}
    for core, feature in CORES.items():
        if feature in has:
            yield {"OPENBLAS_CORETYPE": core}
    if platform.libc_ver()[0] == "glibc" and platform.machine() == "x86_64":
        hidden = ",".join(f"-{name}" for name in OF_GLIBC)
        yield {"GLIBC_TUNABLES": f"glibc.cpu.hwcaps={hidden}"}


def machines() -> int:
    """Fit the golden models as other processors and C libraries would."""
    failed = []
    for hidden in environments():
        shown = " ".join(f"{name}={value}" for name, value in hidden.items())
        print(shown, flush=True)
        outside = {**os.environ, "PYTHONSAFEPATH": "1", **hidden}
        test = ("-m", "pytest", "-q", "tests/project/test_golden.py")
        if run(sys.executable, *test, env=outside):
            failed.append(shown)
    print(*failed, f"{len(failed)} of these give other models", sep="\n")
    return bool(failed)
