"""Predict with a pipeline in onnxruntime
======================================

Convert a scikit-learn pipeline to ONNX, and predict with onnxruntime.

To run it: ``pip install "skgoss[onnx]" matplotlib``.
"""

# %%
# A pipeline
# ----------
#
# Importing ``skgoss.onnx`` registers the estimators with skl2onnx.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import skl2onnx
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skgoss.onnx
from skgoss import LGBMClassifier

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
pipeline = make_pipeline(StandardScaler(), LGBMClassifier(n_estimators=50))
pipeline.fit(X_train, y_train)

# %%
# Convert
# -------
#
# The row is an example of the input: here a float64 array. Without ``zipmap=False``,
# probabilities would be dictionaries.
model = skl2onnx.to_onnx(pipeline, X_train[:1], options={"zipmap": False})

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "pipeline.onnx"
    path.write_bytes(model.SerializeToString())
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    session = onnxruntime.InferenceSession(path)
    label, proba = session.run(None, {"X": X_test})

# %%
# Compare
# -------
#
# The differences are as small as the rounding of double precision.
print(f"accuracy in onnxruntime: {(label == y_test).mean():.3f}")
difference = np.abs(proba - pipeline.predict_proba(X_test)).max()
print(f"largest difference of a probability: {difference:.0e}")

# %%
# skgoss converts a model without skl2onnx:
alone = skgoss.to_onnx(pipeline[-1])
print("outputs of the model alone:", *(output.name for output in alone.graph.output))

# %%
# The difference of each probability:
_, ax = plt.subplots(layout="constrained")
expected = pipeline.predict_proba(X_test)[:, 1]
ax.plot(expected, proba[:, 1] - expected, ".")
ax.set(xlabel="probability in scikit-learn", ylabel="in onnxruntime - in scikit-learn")
plt.show()
