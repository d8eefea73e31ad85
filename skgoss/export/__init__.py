"""Models in ONNX."""
