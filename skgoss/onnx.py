"""ONNX pipelines: importing this module registers the estimators with skl2onnx."""

from skgoss.export.skl2onnx import register as register
