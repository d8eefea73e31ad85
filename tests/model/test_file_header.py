"""Headers of text files: names of columns, and what contradicts."""

from __future__ import annotations

import pytest

from helpers.lightgbm_models import SMALL, data, lightgbm
from helpers.text_models import assert_equal, header_of, one_split
from helpers.trees import stump
from skgoss.model.ensemble import Ensemble
from skgoss.model_files import text_reader, text_writer
from skgoss.model_files.text_writer import safe_names


def test_names_with_equal_signs():
    lgb = lightgbm()
    X, y = data()
    names = ["color=red", "a=b=c", "=", "d", "e"]
    peer = lgb.train(SMALL, lgb.Dataset(X, y, feature_name=names), 2)
    assert text_reader.read(peer.model_to_string())[1].feature_names == names


NAMES = [
    *("a b", "a_b", "", 'q"', "q_", "größe", "a\tb", "a,b", "x\ny", "\ud800", "="),
    "ok",
]


def test_safe_names():
    safe = safe_names(NAMES)
    assert len(set(safe)) == len(NAMES)
    assert [s for s, n in zip(safe, NAMES, strict=True) if s == n] == [
        *("a_b", "q_", "größe", "=", "ok")
    ]
    assert safe_names(["a"] * 3 + [""] * 2)[0] == "a"
    assert len(set(safe_names(["a"] * 3 + ["", "Column_3", "a_1"]))) == 6
    assert safe_names(["\xa0", "\u2028", "\x7f"]) == ["_", "__1", "__2"]


def test_all_names_survive():
    n = len(NAMES)
    ensemble = Ensemble.from_trees([stump(3, 0.5, 1, 2)], 1, n)
    header = header_of(
        ensemble,
        feature_names=NAMES,
        feature_infos=["none"] * n,
        objective="regression",
    )
    file = text_writer.write(ensemble, header)
    assert_equal(text_reader.read(file), (ensemble, header))
    assert_equal(text_reader.read(file.encode()), (ensemble, header))
    peer = lightgbm().Booster(model_str=file)
    assert peer.feature_name() == safe_names(NAMES)
    assert text_reader.read(peer.model_to_string())[1].feature_names == NAMES


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_names": []}, "feature_names must be 1 strings"),
        ({"feature_infos": ["a", "b"]}, "feature_infos must be 1 strings"),
        ({"feature_infos": ["a b"]}, "ranges such as .*, got 'a b'"),
        ({"monotone_constraints": [1, 1]}, "monotone_constraints must be 1 numbers"),
        ({"objective": "a\nb"}, "objective must not hold a line break"),
        ({"parameters": {"a": "b\r"}}, r"parameters\['a'\] must not hold a line break"),
    ],
)
def test_headers_that_do_not_fit(options, message):
    ensemble = one_split([1])
    with pytest.raises(ValueError, match=message):
        text_writer.write(ensemble, header_of(ensemble, **options))
