"""Custom objective: expectile regression
======================================

Pass a function as the objective.

A custom objective is a function of the targets and the current raw scores. It returns
the first and second derivatives of the loss for each row. This example uses the loss
of the tau-expectile: the squared error, weighted by tau if the target is above the
prediction and by 1 - tau if it is below. tau = 1/2 gives the mean, and larger values
give higher predictions.
"""

import matplotlib.pyplot as plt
import numpy as np

from skgoss import LGBMRegressor


class Expectile:
    """Gradient and hessian of the tau-expectile loss (Newey and Powell, 1987)."""

    def __init__(self, tau: float) -> None:
        self.tau = tau

    def __call__(
        self, y: np.ndarray, score: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        weight = np.where(y > score, self.tau, 1 - self.tau)
        return weight * (score - y), weight


def main() -> None:
    """Fit three expectiles to data whose noise grows with x, and draw them."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, 5000)
    y = np.sin(2 * x) + x * rng.standard_normal(x.size)
    # Boosting starts from 0 with a custom objective, so subtract the mean.
    center = y.mean()
    line = np.linspace(0, 4, 300)[:, np.newaxis]
    _, ax = plt.subplots(layout="constrained")
    ax.plot(x, y, ".", color="0.8", markersize=2)
    for tau in (0.1, 0.5, 0.9):
        model = LGBMRegressor(objective=Expectile(tau), n_estimators=60, num_leaves=8)
        model.fit(x[:, np.newaxis], y - center)
        narrow, wide = center + model.predict([[0.5], [3.5]])
        print(
            f"{tau}-expectile: {narrow:+.2f} where x = 0.5, {wide:+.2f} where x = 3.5"
        )
        ax.plot(line, center + model.predict(line), label=f"{tau}-expectile")
    ax.set(xlabel="x", ylabel="y")
    ax.legend(loc="upper left")
    plt.show()


if __name__ == "__main__":
    main()
