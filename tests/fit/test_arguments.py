"""The arguments of `fit`, from the estimator to the fit."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

from skgoss import Dataset, LGBMClassifier, LGBMModel, LGBMRanker, LGBMRegressor
from skgoss.fit.arguments import FitArguments, evaluation_set, input_sets
from skgoss.parameters import make_settings


def small(cls, **options):
    return cls(n_estimators=5, num_leaves=6, **options)


@pytest.mark.parametrize("cls", [LGBMModel, LGBMRegressor, LGBMClassifier, LGBMRanker])
def test_every_argument_of_fit_arrives(cls):
    taken = {}

    class Keeping(cls):
        def _fit(self, X, y, given):
            taken.update(vars(given), X=X, y=y)
            return self

    names = list(inspect.signature(cls.fit).parameters)[1:]
    given = {name: object() for name in names}
    Keeping().fit(**given)
    taken["early_stopping_rounds"] = taken.pop("early_stopping_round")
    assert all(taken[name] is value for name, value in given.items())


@pytest.mark.parametrize("cls", [LGBMModel, LGBMRegressor, LGBMClassifier, LGBMRanker])
def test_arguments_of_fit_are_in_lightgbm_s_order(cls, lightgbm):
    ours, theirs = (
        [
            name
            for name, parameter in inspect.signature(its.fit).parameters.items()
            if parameter.kind == parameter.POSITIONAL_OR_KEYWORD
        ]
        for its in (cls, getattr(lightgbm, cls.__name__))
    )
    assert ours == theirs


def test_an_argument_that_fit_does_not_have_is_an_error():
    with pytest.raises(TypeError, match="unexpected keyword argument 'eval_weight'"):
        FitArguments(eval_weight=3)


def test_ones_are_not_weights(two_classes):
    X, y = two_classes
    expected = small(LGBMClassifier).fit(X, y).predict_proba(X)
    for weight in (np.ones(100), [1] * 100, 1, np.ones(100, dtype=np.float32)):
        model = small(LGBMClassifier).fit(X, y, weight)
        np.testing.assert_array_equal(model.predict_proba(X), expected)


# --- Evaluation sets ------------------------------------------------------------------

# Only their identity matters.
X, Y, A, B, C, D = (np.arange(float(k)) for k in range(3, 9))
V = object()


def sets_of(given, **training):
    """Of each evaluation set what it is: names of its values, and None without them."""
    known = {id(X): "X", id(Y): "Y", id(A): "A", id(B): "B", id(C): "C", id(D): "D"}
    arguments = FitArguments(**training, **given)
    settings = make_settings({}, "LGBMRegressor")
    first, *sets = input_sets(X, Y, arguments, settings)
    assert (first.name, first.prefix, first.is_training) == ("training", "", True)
    assert {input_set.prefix for input_set in sets} <= {"eval_"}
    fields = ("sample_weight", "class_weight", "init_score", "group", "qid")
    return [
        (
            e.name,
            known[id(e.X)] + known[id(e.y)],
            {k: getattr(e, k) for k in fields if getattr(e, k) is not None},
        )
        for e in sets
    ]


AB, CD, XY = (A, B), (C, D), (X, Y)
OF_TRAINING = {"sample_weight": "w", "init_score": "s"}
BY_CLASS = {0: 2.0, 1: 1.0}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"eval_set": [AB]}, {"valid_0": "AB"}),
        ({"eval_set": AB}, {"valid_0": "AB"}),
        ({"eval_set": [[A, B]], "eval_names": "a"}, {"a": "AB"}),
        ({"eval_set": (AB, CD)}, {"valid_0": "AB", "valid_1": "CD"}),
        ({"eval_X": A, "eval_y": B}, {"valid_0": "AB"}),
        (
            {"eval_X": (A, C), "eval_y": (B, D), "eval_names": ["a"]},
            {"a": "AB", "valid_1": "CD"},
        ),
        # The training set comes first, and has its own values.
        (
            {"eval_set": [AB, XY, XY]},
            {
                "training": ("XY", OF_TRAINING),
                "valid_2": ("XY", OF_TRAINING),
                "valid_0": "AB",
            },
        ),
        (
            {"eval_set": [XY], "eval_sample_weight": [V], "eval_names": ["t"]},
            {"t": ("XY", {"sample_weight": V, "init_score": "s"})},
        ),
        ({"eval_set": [(X, B), (A, Y)]}, {"valid_0": "XB", "valid_1": "AY"}),
    ],
)
def test_evaluation_sets_have_names(given, expected):
    found = sets_of(given, sample_weight="w", init_score="s")
    assert found == [
        (name, *((of, {}) if isinstance(of, str) else of))
        for name, of in expected.items()
    ]


def test_a_data_set_is_an_evaluation_set():
    rows = np.arange(8.0).reshape(4, 2)
    training = Dataset(rows, label=[0, 1, 0, 1], position=[5, 7, 5, 3])
    given, settings = FitArguments(), make_settings({}, "LGBMRegressor")
    [first] = input_sets(training, None, given, settings)
    assert first.position.tolist() == [1, 2, 1, 0]
    new = training.create_valid(rows, label=[1, 1, 0, 0], weight=[1, 2, 3, 4])
    found = evaluation_set(first, "new", new)
    assert (found.name, found.is_training, found.position) == ("new", False, None)
    assert found.X is new
    assert found.y.tolist() == [1, 1, 0, 0]
    assert found.sample_weight.tolist() == [1, 2, 3, 4]
    again = evaluation_set(first, "again", training)
    assert (again.name, again.prefix) == ("again", "eval_")
    assert again.y.tolist() == [0, 1, 0, 1]
    with pytest.raises(TypeError, match="name must be a str, got 3"):
        evaluation_set(first, 3, new)


def test_values_of_rows_stay_with_sets_of_files_and_of_arrays(tmp_path):
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.c_[X, y], delimiter=",", header="a,b,y", comments="")
    given = FitArguments(
        eval_set=[(str(path), "y"), (X + 1, y)],
        eval_sample_weight=[y + 1, y + 2],
        eval_init_score=[y + 3, y + 4],
    )
    settings = LGBMRegressor()._settings(None, given)
    _, *sets = input_sets(Dataset(X, y), None, given, settings)
    for k, found in enumerate(sets):
        np.testing.assert_array_equal(found.sample_weight, y + 1 + k)
        np.testing.assert_array_equal(found.init_score, y + 3 + k)


def test_the_target_of_a_file_is_the_name_of_a_column():
    given, settings = FitArguments(), make_settings({}, "LGBMRegressor")
    with pytest.raises(TypeError, match=r"rows in the file a\.csv.*got numpy\.ndarray"):
        input_sets("a.csv", np.zeros(3), given, settings)


@pytest.mark.parametrize(
    ("name", "passed", "values"),
    [
        # Lists may be shorter, and dictionaries go by number.
        ("sample_weight", ["v"], ["v", None]),
        ("init_score", {1: "v"}, [None, "v"]),
        ("init_score", "v", ["v"]),
        ("sample_weight", [1.0, 2.0], [[1.0, 2.0]]),
        ("class_weight", "balanced", ["balanced", "balanced"]),
        ("class_weight", BY_CLASS, [BY_CLASS, BY_CLASS]),
        ("class_weight", {1: "balanced"}, [None, "balanced"]),
        ("class_weight", [None, {0: 2.0}], [None, {0: 2.0}]),
    ],
)
def test_each_evaluation_set_has_its_own_values(name, passed, values):
    pairs = [AB, CD][: len(values)]
    found = sets_of({"eval_set": pairs, f"eval_{name}": passed})
    assert [of for _, _, of in found] == [
        {} if value is None else {name: value} for value in values
    ]


@pytest.mark.parametrize(
    ("error", "given", "message"),
    [
        (ValueError, {"eval_set": [AB], "eval_X": A, "eval_y": B}, "not both"),
        (ValueError, {"eval_set": [AB], "eval_y": B}, "Specify either 'eval_set' or"),
        (ValueError, {"eval_X": A}, "must specify eval_X and eval_y, not just one"),
        (ValueError, {"eval_y": A}, "must specify eval_X and eval_y, not just one"),
        (ValueError, {"eval_X": (A,), "eval_y": B}, "eval_y must be a tuple of same"),
        (ValueError, {"eval_X": A, "eval_y": (B,)}, "eval_y must be a tuple of same"),
        (ValueError, {"eval_X": (A, C), "eval_y": (B,)}, "must be a tuple of same"),
        (TypeError, {"eval_set": 3}, r"list of pairs, \[\(X, y\)\], got int"),
        (TypeError, {"eval_set": [A]}, "but its item 0 is a numpy.ndarray"),
        (TypeError, {"eval_set": [AB, (A,)]}, "its item 1 is a tuple of length 1"),
        (
            ValueError,
            {"eval_set": [AB, CD], "eval_names": ["a", "a"]},
            r"must differ .*, got \['a', 'a'\]",
        ),
        (
            ValueError,
            {"eval_set": [AB, CD], "eval_names": ["valid_1"]},
            "eval_names must differ",
        ),
        (TypeError, {"eval_set": [AB], "eval_names": [3]}, "must be a list of str"),
        (
            ValueError,
            {"eval_set": [AB, CD], "eval_sample_weight": {2: A}},
            "eval_sample_weight has the key 2; .* are the numbers .*, 0 to 1",
        ),
        (
            ValueError,
            {"eval_set": [AB], "eval_sample_weight": [A, B]},
            r"Length of eval_sample_weight \(2\) not equal to .* eval_set \(1\)",
        ),
        (
            ValueError,
            {"eval_set": [AB, CD], "eval_group": [A]},
            r"Length of eval_group \(1\) not equal to length of eval_set \(2\)",
        ),
        (
            TypeError,
            {"eval_set": [AB, CD], "eval_sample_weight": A},
            "eval_sample_weight should be dict or list: .* each of the 2",
        ),
        (
            ValueError,
            {"eval_set": [AB], "eval_group": [A]},
            "evaluation set 'valid_0' has queries, but the training set has none",
        ),
    ],
)
def test_evaluation_sets_that_are_none(error, given, message):
    with pytest.raises(error, match=message):
        sets_of(given)


def test_queries_of_evaluation_sets_must_be_passed():
    for given in ({"eval_set": [(A, B)]}, {"eval_set": [(A, B)], "eval_group": [None]}):
        with pytest.raises(ValueError, match=r"eval_group cannot be None .* 'valid_0'"):
            sets_of(given, group="g")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"eval_sample_weight": [A]}, "eval_sample_weight is not used: there is no"),
        ({"eval_qid": {0: A}}, "eval_qid is not used: there is no evaluation set"),
        ({"eval_class_weight": "balanced"}, "eval_class_weight is not used"),
        (
            {"eval_set": [(A, B)], "eval_names": ["a", "b", "c"]},
            "has 3 names for 1 evaluation sets: the last 2 are not used",
        ),
        ({"eval_sample_weight": [None]}, None),
        ({"eval_init_score": {0: None}}, None),
        ({"eval_names": ["a"]}, None),
    ],
)
def test_arguments_without_an_evaluation_set_are_told(given, message):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sets_of(given)
    assert len(caught) == (message is not None)
    if message is not None:
        assert message in str(caught[0].message)


@pytest.mark.parametrize(
    ("rounds", "expected"), [(None, 3), (0, 0), (False, 0), (np.False_, 0), (7, 7)]
)
def test_early_stopping_rounds_that_are_false_are_none(rounds, expected):
    model = LGBMModel(early_stopping_round=3)
    settings = model._settings(None, FitArguments(early_stopping_round=rounds))
    assert settings.early_stopping_round == expected
    assert not isinstance(settings.early_stopping_round, bool)


def test_errors_name_the_set_and_what_may_be_wrong():
    settings = make_settings({}, "LGBMRegressor")
    rows = np.zeros((4, 2))
    for given, message in (
        ((rows, A), "^The evaluation set 'valid_0': odd"),
        ((A, rows), "^The evaluation set 'valid_0': Are X and y swapped"),
    ):
        arguments = FitArguments(eval_set=[given])
        training, input_set = input_sets(*given, FitArguments(), settings), None
        _, input_set = input_sets(X, Y, arguments, settings)
        for kind in (ValueError, TypeError):
            with pytest.raises(kind, match=message):
                input_set.raise_named(kind("odd"))
        input_set.raise_named(UnicodeDecodeError("utf-8", b"", 0, 1, "odd"))
        if given[0] is rows:
            training[0].raise_named(ValueError("odd"))
            continue
        with pytest.raises(ValueError, match=r"^Are X and y swapped.* odd"):
            training[0].raise_named(ValueError("odd"))


def test_one_dataset_is_a_list_of_evaluation_sets():
    rows = np.arange(40.0)[:, None]
    valid, model = Dataset(rows[:9], rows[:9, 0]), LGBMRegressor(n_estimators=2)
    alone = model.fit(rows, rows[:, 0], eval_set=valid).evals_result_
    listed = model.fit(rows, rows[:, 0], eval_set=[valid]).evals_result_
    assert alone == listed != {}


def test_queries_that_are_passed_replace_those_of_a_data_set():
    X = np.random.default_rng(0).normal(size=(200, 3))
    y, qid = (X[:, 0] > 0) * 1, np.repeat(np.arange(20), 10)
    expected = small(LGBMRanker).fit(X, y, qid=qid).predict(X)
    for passed in ({"qid": qid}, {"group": np.full(20, 10)}):
        rows = Dataset(X, label=y, group=[150, 50])
        found = small(LGBMRanker).fit(rows, **passed).predict(X)
        np.testing.assert_array_equal(found, expected)
    other = small(LGBMRanker).fit(Dataset(X, label=y, group=[150, 50])).predict(X)
    assert (other != expected).any()
