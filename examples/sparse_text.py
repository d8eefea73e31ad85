"""Text classification with sparse features
========================================

Fit a pipeline of HashingVectorizer and LGBMClassifier on a sparse matrix.

To run it: ``pip install skgoss matplotlib``.
"""

# %%
# The messages
# ------------
#
# Requests to a shop, some of which are urgent. Some single words make a message urgent,
# as do some pairs of words that are harmless alone, such as "not" and "work". A
# message has about forty words, most of which are irrelevant.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.metrics import RocCurveDisplay, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from skgoss import LGBMClassifier

URGENT = np.array(["broken", "refund", "immediately", "lawyer", "smoke"])
HARMLESS = np.array(["not", "work", "never", "arrive", "please", "thanks"])
PAIRS = [{"not", "work"}, {"never", "arrive"}]

rng = np.random.default_rng(0)
popularity = 1 / np.arange(10, 20_010)
filler = rng.choice(20_000, (6000, 38), p=popularity / popularity.sum())
texts, urgent = [], []
for numbers in filler.astype(str):
    words = set(rng.choice(HARMLESS, rng.integers(4), replace=False))
    words |= set(rng.choice(URGENT, rng.binomial(1, 0.3), replace=False))
    alarms = len(words & set(URGENT)) + sum(words >= pair for pair in PAIRS)
    urgent.append(rng.random() < (0.9 if alarms else 0.05))
    texts.append(" ".join([*sorted(words), *np.char.add("word", numbers)]))
urgent = np.array(urgent)
print(texts[0][:80], "...")

# %%
# The pipeline
# ------------
#
# HashingVectorizer assigns each word to one of 2^18 columns. Word counts are enough:
# signs and norms only help linear models.
train, test, y, y_test = train_test_split(texts, urgent, random_state=0)
words = HashingVectorizer(n_features=2**18, alternate_sign=False, norm=None)
model = make_pipeline(words, LGBMClassifier(n_estimators=60, num_leaves=15))
probability = model.fit(train, y).predict_proba(test)[:, 1]
print(f"AUC {roc_auc_score(y_test, probability):.4f}")
base = log_loss(y_test, [y.mean()] * len(y_test))
print(f"log loss {log_loss(y_test, probability):.4f}, of the base rate {base:.4f}")

# %%
# Memory
# ------
#
# Only about forty values of a row are not zero. The model stores only these, and
# bundles words that never occur in the same message.
X = words.transform(train)
print(f"{X.shape[0]:,} x {X.shape[1]:,} values, {X.nnz:,} of them not zero")
dense = X.shape[0] * X.shape[1] * X.dtype.itemsize
print(f"{12 * X.nnz / 1e6:.0f} MB; a dense array would take {dense / 1e9:.0f} GB")

# %%
# How well urgent messages are found:
RocCurveDisplay.from_predictions(
    y_test, probability, name="urgent messages", plot_chance_level=True
)
plt.show()
