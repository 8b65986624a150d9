"""A table put together from the blocks of a long file: numbers as arrays, so that memory grows with the columns and not with the text."""

import numpy as np

from whyloss.sources.readers.table import LABELS, Numbers, Rows, Table, Words

BLANK = -7.7777e-301  # stands for a blank cell while a block is numbers only


class Gathered:
    """Blocks of rows in their order."""

    def __init__(self, columns=None) -> None:
        self.height = 0
        self._wanted = columns  # a predicate on names, or None
        self._numbers: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        self._words: dict[str, tuple[list, list, dict]] = {}

    def add_matrix(self, names, matrix: np.ndarray) -> None:
        """matrix: (rows, columns) float64 with BLANK in the blank cells."""
        rows = np.arange(self.height, self.height + len(matrix), dtype=np.int64)
        for name, values in zip(names, matrix.T):
            if self._wanted is None or self._wanted(name):
                filled = values != BLANK
                if filled.all():
                    self._append(name, rows, np.ascontiguousarray(values))
                elif filled.any():
                    self._append(name, rows[filled], values[filled])
        self.height += len(matrix)

    def add_columns(self, height: int, columns: dict) -> None:
        """columns: name -> (rows or None, values)."""
        for name, (rows, values) in columns.items():
            if self._wanted is None or self._wanted(name):
                self._append(name, (np.arange(height, dtype=np.int64) if rows is None else rows) + self.height, values)
        self.height += height

    def add_rows(self, part: Rows) -> None:
        table = part.table()
        for name, column in table.numbers.items():
            if self._wanted is None or self._wanted(name):
                rows = np.arange(table.height) if column.rows is None else column.rows
                self._append(name, rows + self.height, column.values)
        for name, column in table.words.items():
            rows, codes, labels = self._words.setdefault(name, ([], [], {}))
            own = np.array(
                [labels.setdefault(label, len(labels)) if label in labels or len(labels) < LABELS else -1 for label in column.labels] + [-1]
            )
            rows.append(column.rows + self.height)
            codes.append(own[column.codes])
        self.height += table.height

    def _append(self, name, rows, values) -> None:
        self._numbers.setdefault(name, []).append((rows, values))

    def table(self, **more) -> Table:
        """The whole; what was gathered is given up column by column, so that it is not held twice."""
        table = Table(self.height, **more)
        for name in list(self._numbers):
            parts = self._numbers.pop(name)
            size = sum(len(values) for _, values in parts)
            rows = None if size == self.height else np.concatenate([rows for rows, _ in parts])
            table.numbers[name] = Numbers(rows, np.concatenate([values for _, values in parts]))
        for name, (rows, codes, labels) in self._words.items():
            table.words[name] = Words(np.concatenate(rows), np.concatenate(codes), list(labels))
        return table
