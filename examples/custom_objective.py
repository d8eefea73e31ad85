"""A loss of your own
==================

Learn with an objective that is a function: here, expectiles.

A custom objective is a function of the targets and the current raw scores; it returns
the first and second derivatives of the loss, one pair a row. The loss of the
tau-expectile is the squared error, weighted by tau where the target is above the
prediction and by 1 - tau where it is below; tau = 1/2 gives the mean, larger values
lean upwards.
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
    """Fit three expectiles to noise that grows with x, look at both ends, and draw."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, 5000)
    y = np.sin(2 * x) + x * rng.standard_normal(x.size)
    # Custom objectives start from a score of zero: learn what is left of the mean.
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
