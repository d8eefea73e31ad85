"""What editors complete, show and check: the answers of jedi and pyright."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skgoss
from helpers.grids import nightly_if

SCRIPT = """\
import skgoss
import skgoss.model_selection
from skgoss import LGBMClassifier, LGBMRegressor

data = skgoss.Dataset([[1.0]], label=[1.0])
booster = skgoss.train({}, data)
model = LGBMRegressor(num_leaves=7).fit([[1.0]], [1.0])
"""


def asked(line):
    """Jedi's script of a user, whose last line is being written, and its end."""
    jedi = pytest.importorskip("jedi")
    # Other folders would be read as well: where the tests run.
    folder = Path(skgoss.__file__).parents[1]
    script = jedi.Script(
        SCRIPT + line,
        path=folder / "of_a_user.py",
        project=jedi.Project(folder, load_unsafe_extensions=False),
    )
    return script, SCRIPT.count("\n") + 1, len(line)


# What is being called, some of its arguments, and at least how many it has.
CALLS = {
    "LGBMRegressor": ("objective preset n_estimators force_row_wise", 95),
    "LGBMClassifier": ("objective preset n_estimators force_row_wise", 95),
    "skgoss.LGBMRanker": ("objective preset n_estimators", 95),
    "model.fit": ("X y sample_weight eval_X eval_y", 18),
    "model.predict": ("X raw_score", 8),
    "model.predict_interval": ("X coverage method", 4),
    "LGBMClassifier().predict_proba": ("X raw_score", 8),
    "skgoss.Dataset": ("data label categorical_feature", 10),
    "skgoss.Booster": ("params train_set model_file", 4),
    "booster.predict": ("data raw_score", 8),
    "skgoss.train": ("params train_set num_boost_round", 10),
    "skgoss.cv": ("params train_set nfold", 15),
    "skgoss.early_stopping": ("stopping_rounds min_delta", 4),
    "skgoss.plot_importance": ("booster max_num_features", 10),
    "skgoss.plot_metric": ("booster metric", 10),
    "skgoss.to_onnx": ("model X", 4),
    "skgoss.model_selection.GridSearchCV": ("estimator param_grid strategy", 10),
}


# A class and a method by day; others at night.
BY_DAY = {"LGBMRegressor", "model.fit"}


@pytest.mark.parametrize("call", nightly_if(CALLS, CALLS.keys() - BY_DAY))
def test_jedi_shows_signatures(call):
    names, n_least = CALLS[call]
    script, *end = asked(f"{call}(")
    # The first of several overloads.
    signature = script.get_signatures(*end)[0]
    listed = [parameter.name for parameter in signature.params]
    assert len(listed) >= n_least
    assert [name for name in names.split() if name not in listed] == []


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("LGBMRegressor(num_", {"num_leaves="}),
        ("model.n_est", {"n_estimators", "n_estimators_"}),
        ("model.feature_imp", {"feature_importances_"}),
        ("booster.save_", {"save_model"}),
        ("data.set_l", {"set_label"}),
        ("model.booster_.num_f", {"num_feature"}),
        ("model.num_leaves.bit_l", {"bit_length"}),
    ],
)
def test_jedi_completes(line, names):
    script, *end = asked(line)
    assert {found.name for found in script.complete(*end)} == names


TEXTS = (
    *("LGBMRegressor", "skgoss.train", "model.predict", "model.fit"),
    *("LGBMClassifier().predict_proba", "LGBMClassifier().fit"),
    *("skgoss.plot_importance", "skgoss.model_selection.GridSearchCV"),
)


def test_jedi_shows_texts():
    for line in TEXTS:
        script, *end = asked(line)
        (found,) = script.help(*end)
        text = found.docstring(raw=True)
        assert "Parameters\n" in text
        assert "{parameters}" not in text
        assert "api.html" not in text
        assert "parameters.html" not in text


# A line, and what pyright says of it.
TYPES = {
    "LGBMRegressor": "type[LGBMRegressor]",
    "model": "LGBMRegressor",
    "LGBMClassifier().fit([[0], [1]], [0, 1])": "LGBMClassifier",
    "model.num_leaves": "int",
    "model.predict([[1.0]])": "NDArray[Any]",
    "model.predict([[1.0]], pred_contrib=True)": "Any",
    "LGBMClassifier().predict_proba([[1.0]])": "NDArray[float64]",
    "model.estimate_memory((1, 1))": "int",
    "model.n_features_in_": "int",
    "model.booster_": "Booster",
    "model.evals_result_": "dict[str, dict[str, list[float]]]",
    "data.num_data()": "int",
    "booster": "Booster",
    "booster.num_trees()": "int",
}
# NDArray[...], as some versions show it.
WRITTEN_OUT = re.compile(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[(\w+)\]\]")
MISTAKES = (
    "LGBMRegressor(n_estimators='100')",
    "LGBMRegressor(preset='accurat')",
    "LGBMClassifier(boosting_type='gbd')",
    "model.fit([[1.0]], [1.0], eval_name=['a'])",
    "skgoss.train({}, data, num_boost_round='5')",
    "skgoss.plot_importance(booster, grid=1, max_num='5')",
)
RIGHT = (
    "LGBMRegressor(objective='huber', metric='l1', eta=0.1)",
    "LGBMRegressor(objective='l2', metric=['l1', 'my_metric'])",
    "LGBMClassifier(preset=None, class_weight={0: 1.0, 1: 2.0})",
    "LGBMRegressor(monotone_constraints={'a': 1}, alpha=[0.1, 0.9])",
)


def test_pyright_knows_types(tmp_path):
    pytest.importorskip("pyright")
    lines = [f"reveal_type({line})" for line in TYPES] + [*MISTAKES, *RIGHT]
    (tmp_path / "script.py").write_text(SCRIPT + "\n".join(lines) + "\n")
    # Editors do not know the hook that finds an editable installation.
    config = {"extraPaths": [str(Path(skgoss.__file__).parents[1])]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    program = shutil.which("pyright", path=Path(sys.executable).parent)
    program = program or shutil.which("pyright")
    if program is None:
        pytest.skip("pyright is not installed")
    command = [program, "--outputjson", "--pythonpath", sys.executable, "script.py"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    said = {}
    for found in json.loads(done.stdout)["generalDiagnostics"]:
        number = found["range"]["start"]["line"] - SCRIPT.count("\n")
        message = WRITTEN_OUT.sub(r"NDArray[\1]", found["message"])
        said.setdefault(number, []).append((found["severity"], message))
    for number, (line, expected) in enumerate(TYPES.items()):
        ((severity, message),) = said.pop(number)
        # Versions write the numbers of the line in different ways.
        shown = message.partition(" is ")[2]
        assert (severity, shown) == ("information", f'"{expected}"'), line
    for number, line in enumerate(MISTAKES, start=len(TYPES)):
        assert [severity for severity, _ in said.pop(number)] == ["error"], line
    assert said == {}
