"""Pipelines in ONNX: importing this module registers the estimators with skl2onnx.

Then ``skl2onnx.to_onnx`` converts pipelines with these estimators. For a model alone,
use ``skgoss.to_onnx``.
"""

from skgoss.estimators.base import LGBMModel
from skgoss.estimators.classifier import LGBMClassifier
from skgoss.estimators.ranker import LGBMRanker
from skgoss.estimators.regressor import LGBMRegressor
from skgoss.export.skl2onnx import register as register

for _class in (LGBMModel, LGBMClassifier, LGBMRegressor, LGBMRanker):
    register(_class)
