"""The option ``time_limit``: when a fit ends."""

from __future__ import annotations

import time
from collections.abc import Callable


class TimeLimit:
    """A number of seconds from now on; None: there is no limit."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        # Whether it has ended anything: `is_over` or that of a part has said so.
        self.is_reached = False
        self._end = float("inf") if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self._end - time.monotonic()

    def is_over(self) -> bool:
        """Whether no time is left."""
        is_over = self.left <= 0
        self.is_reached |= is_over
        return is_over

    def after_round(self) -> Callable[..., bool] | None:
        """What `loop.train` calls after each round; None if there is no limit."""
        return None if self.seconds is None else lambda *_: self.is_over()

    def results(self) -> dict[str, bool]:
        """What a model keeps of it."""
        return {} if self.seconds is None else {"is_limit_reached": self.is_reached}

    def part(self, share: float) -> TimeLimit:
        """The limit of a part of the fit, which takes a share of the time left."""
        return TimeLimit(None if self.seconds is None else max(0.0, share * self.left))


NO_LIMIT = TimeLimit(None)
