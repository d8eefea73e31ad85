"""Text classification with sparse features
========================================

Fit a pipeline of HashingVectorizer and LGBMClassifier on a sparse matrix.

HashingVectorizer assigns each word to one of 2^18 columns. Only about forty values per
row are not zero. As a dense array, the matrix would need gigabytes. The model
stores only the non-zero values, and bundles words that never occur in the same message.

The messages are generated: requests to a shop, some of which are urgent. Some single
words make a message urgent, and so do some pairs of words that are harmless alone, such
as "not" and "work".
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.metrics import RocCurveDisplay, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from skgoss import LGBMClassifier

N_MESSAGES = 6000
N_WORDS = 20_000
URGENT = np.array(["broken", "refund", "immediately", "lawyer", "smoke"])
HARMLESS = np.array(["not", "work", "never", "arrive", "please", "thanks"])
PAIRS = [("not", "work"), ("never", "arrive")]


def messages(rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Generate messages of about forty words, most of which are irrelevant."""
    popularity = 1 / np.arange(10, N_WORDS + 10)
    filler = rng.choice(
        N_WORDS, (N_MESSAGES, 38), p=popularity / popularity.sum()
    ).astype(str)
    texts, urgent = [], np.empty(N_MESSAGES, dtype=bool)
    for row, numbers in enumerate(filler):
        words = set(rng.choice(HARMLESS, rng.integers(4), replace=False))
        words |= set(rng.choice(URGENT, rng.binomial(1, 0.3), replace=False))
        alarms = len(words & set(URGENT)) + sum(words >= set(pair) for pair in PAIRS)
        urgent[row] = rng.random() < (0.9 if alarms else 0.05)
        texts.append(" ".join([*sorted(words), *np.char.add("word", numbers)]))
    return texts, urgent


def main() -> None:
    """Fit and score the pipeline, and print the size of sparse and dense data."""
    texts, urgent = messages(np.random.default_rng(0))
    train, test, y, y_test = train_test_split(texts, urgent, random_state=0)
    # Use word counts: signs and norms only help linear models.
    words = HashingVectorizer(n_features=2**18, alternate_sign=False, norm=None)
    model = make_pipeline(words, LGBMClassifier(n_estimators=60, num_leaves=15))
    probability = model.fit(train, y).predict_proba(test)[:, 1]
    print(f"AUC {roc_auc_score(y_test, probability):.4f}")
    base = log_loss(y_test, [y.mean()] * len(y_test))
    print(f"log loss {log_loss(y_test, probability):.4f}, of the base rate {base:.4f}")
    X = words.transform(train)
    print(f"{X.shape[0]:,} x {X.shape[1]:,} values, {X.nnz:,} of them not zero")
    dense = X.shape[0] * X.shape[1] * X.dtype.itemsize
    print(f"{12 * X.nnz / 1e6:.0f} MB; a dense array would take {dense / 1e9:.0f} GB")
    RocCurveDisplay.from_predictions(
        y_test, probability, name="urgent messages", plot_chance_level=True
    )
    plt.show()


if __name__ == "__main__":
    main()
