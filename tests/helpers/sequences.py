"""Rows as a Sequence."""

from skgoss import Sequence


class Rows(Sequence):
    def __init__(self, rows, batch_size=64):
        self.rows, self.batch_size = rows, batch_size
        self.asked = []

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        self.asked.append(index)
        return self.rows[index]
