"""How low the load of the heaviest rank can be at best: what a schedule is measured against."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def makespan_bound(cost: npt.NDArray[np.float64], dp_size: int) -> float:
    """A cost that some rank reaches however the samples, [N], are placed on `dp_size` ranks.

    It is the largest of three: the mean over the ranks, the costliest sample, and, for every k, what pigeons in holes
    say: of the costliest k · dp_size + 1 samples some rank has k + 1, and these cost at least what the cheapest k + 1
    of them do. Costs 5, 5, 5 on two ranks give 10, though the mean is 7.5.
    """
    descending = np.sort(cost)[::-1]
    summed = np.concatenate([[0.0], np.cumsum(descending)])
    k = np.arange((len(cost) - 1) // dp_size + 1)
    pigeons = summed[k * dp_size + 1] - summed[k * dp_size - k]
    return float(max(summed[-1] / dp_size, pigeons.max()))
