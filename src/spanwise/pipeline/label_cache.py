"""The encoded label texts of the last label sets, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from spanwise.seam.batch import Array, LabelTexts

V = TypeVar("V")
LABEL_SETS, LABEL_NUMBERS = 8, 2**26  # how many encoded label sets are kept, and how many numbers of them together


class LabelCache(Generic[V]):
    """Encodes each label set once; threads may share it. `size` gives the number of values of an encoded set."""

    def __init__(self, size: Callable[[V], int]) -> None:
        self._size = size
        self._sets: OrderedDict[tuple[int, bytes], V] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._sets)

    def get(self, texts: LabelTexts[Array], encode: Callable[[], V]) -> V:
        key = len(texts.pieces), texts.pieces.tobytes()
        with self._lock:
            if key in self._sets:
                self._sets.move_to_end(key)
                return self._sets[key]
        encoded = encode()
        with self._lock:
            self._sets[key] = encoded
            while len(self._sets) > LABEL_SETS or (len(self._sets) > 1 and self._numbers() > LABEL_NUMBERS):
                self._sets.popitem(last=False)
        return encoded

    def _numbers(self) -> int:
        return sum(map(self._size, self._sets.values()))
