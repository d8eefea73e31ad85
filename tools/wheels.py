"""Wheels: built from the sdist, for all systems, with old and new packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from unittest.mock import patch

from instrumented import ROOT

ENGINE = ROOT / "skgoss" / "_engine"

# What wheels are built for; the names are those of Zig, with the oldest macOS.
TARGETS = (
    *("x86_64-linux-gnu", "x86_64-linux-musl", "aarch64-linux-gnu"),
    *("aarch64-linux-musl", "x86_64-macos.10.13", "aarch64-macos.11.0"),
    *("x86_64-windows-gnu", "aarch64-windows-gnu"),
)
# What Python's headers must say of Windows instead of what they say of this machine.
WINDOWS = """
#undef HAVE_PTHREAD_H
#undef HAVE_SYS_SELECT_H
#undef SIZEOF_LONG
#undef SIZEOF_PTHREAD_T
#undef SIZEOF_WCHAR_T
#undef _POSIX_THREADS
#define MS_WIN32
#define MS_WINDOWS
#define NT_THREADS
#define SIZEOF_LONG 4
#define SIZEOF_WCHAR_T 2
"""
DIRECTIVES = ("-3", "-Xboundscheck=False", "-Xwraparound=False", "-Xcdivision=True")
MOST_BYTES = 4_000_000
QUICK_TESTS = (
    "tests/project/test_golden.py",
    "tests/project/test_promises.py",
    "tests/users/test_threads.py",
    "tests/estimators/test_base.py",
    "tests/estimators/test_classifier.py",
    "tests/estimators/test_regressor.py",
)


def fails(*command: str | Path) -> bool:
    """Run a command in the project's root; whether it fails."""
    outside = {**os.environ, "PYTHONSAFEPATH": "1"}
    words = [*map(str, command)]
    return bool(subprocess.run(words, cwd=ROOT, env=outside, check=False).returncode)


def translation_fails(folder: Path) -> bool:
    """Make the C code of all modules."""
    sources = sorted(ENGINE.rglob("*.pyx"))
    shared = "--shared=skgoss._engine._cyutility"
    tool = ROOT / "tools" / "translate.py"
    return fails(
        sys.executable, tool, *DIRECTIVES, shared, "-o", folder, *sources
    ) or fails(
        *(sys.executable, "-m", "cython"),
        f"--generate-shared={folder / '_cyutility.c'}",
    )


def compiles(target: str, source: Path) -> bool:
    """Whether Zig's compiler accepts a C file for a target."""
    include = [f"-I{path}" for path in (ENGINE, *ENGINE.iterdir()) if path.is_dir()]
    headers = source.parent / ("windows" if "windows" in target else "posix")
    return not fails(
        *(sys.executable, "-m", "ziglang", "cc", "-target", target, "-std=gnu11"),
        *("-O0", "-w", "-ffp-contract=off", "-DSKGOSS_CHECKED=0", *include),
        *(f"-I{headers}", "-c", source, "-o", source.with_suffix(f".{target}.o")),
    )


def targets() -> int:
    """Compile the C code of all modules for each kind of wheel."""
    failed = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if translation_fails(folder):
            return 1
        for system in "posix", "windows":
            shutil.copytree(sysconfig.get_path("include"), folder / system)
        with open(folder / "windows" / "pyconfig.h", "a", encoding="utf-8") as file:
            file.write(WINDOWS)
        sources = sorted(folder.glob("*.c"))
        for target in TARGETS:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                accepted = list(pool.map(partial(compiles, target), sources))
            bad = [
                p.name for p, fine in zip(sources, accepted, strict=True) if not fine
            ]
            print(target, "does not compile:" if bad else "compiles", *bad, flush=True)
            failed += bad
    return bool(failed)


def build_wheel(folder: Path, sources: Path = ROOT) -> Path:
    """Build the sdist, and from it the wheel, as they are released."""
    limited = "-Csetup-args=-Dpython.allow_limited_api=true"
    command = [sys.executable, "-m", "build", limited, "-o", folder, sources]
    subprocess.run(command, check=True)
    (built,) = folder.glob("*.whl")
    return built


def absolute_paths(wheel: Path, folder: Path) -> Iterator[str]:
    """Where the modules of a wheel look for libraries, apart from their own folder."""
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile

    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    for path in folder.rglob("*.so*"):
        with open(path, "rb") as file:
            for section in ELFFile(file).iter_sections():
                tags = (
                    section.iter_tags() if isinstance(section, DynamicSection) else ()
                )
                for tag in tags:
                    found = getattr(tag, "rpath", None) or getattr(tag, "runpath", "")
                    if found and not found.startswith("$ORIGIN"):
                        yield f"{path.name}: {found}"


def wheel() -> int:
    """Build a wheel from the sdist; check its size, tags and paths of libraries."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = build_wheel(folder)
        auditwheel = (sys.executable, "-m", "auditwheel")
        if fails(*auditwheel, "repair", "-w", folder / "repaired", built):
            return 1
        (repaired,) = (folder / "repaired").glob("*.whl")
        size = repaired.stat().st_size
        wrong = list(absolute_paths(repaired, folder / "files"))
        print(repaired.name, f"{size:,} bytes", *wrong, sep="\n")
        return (
            bool(wrong)
            or size > MOST_BYTES
            or fails(*auditwheel, "show", repaired)
            or fails(
                sys.executable, "-m", "abi3audit", "--strict", "--summary", repaired
            )
        )


def twice() -> int:
    """Build the sdist and the wheel twice, in other folders; they must be equal."""
    fixed = {"SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", "1700000000")}
    without = shutil.ignore_patterns("build", "_build")
    with tempfile.TemporaryDirectory() as name, patch.dict(os.environ, fixed):
        folders = [Path(name, "first"), Path(name, "of another length")]
        for folder in folders:
            shutil.copytree(ROOT, folder / "skgoss", ignore=without)
        for folder in folders:
            build_wheel(folder / "dist", folder / "skgoss")
        made = [
            {path.name: path.read_bytes() for path in (folder / "dist").iterdir()}
            for folder in folders
        ]
    differing = [name for name in made[0] if made[0][name] != made[1].get(name)]
    print(f"{len(made[0])} files, {len(differing)} differ:", *differing)
    return bool(differing)


def dependencies() -> int:
    """Run the quick tests with the oldest packages allowed, and with the newest."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        newest = tomllib.load(file)["project"]["dependencies"]
    oldest = [requirement.replace(">=", "==") for requirement in newest]
    with tempfile.TemporaryDirectory() as name:
        built = build_wheel(Path(name))
        for packages in oldest, newest:
            folder = Path(name, "oldest" if packages is oldest else "newest")
            venv.create(folder, with_pip=True)
            python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
            if fails(
                python, "-m", "pip", "install", built, "pytest", *packages
            ) or fails(python, "-m", "pytest", *QUICK_TESTS):
                return 1
    return 0
