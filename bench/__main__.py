"""All measurements, one part after the other: `python -m bench`, or `python -m bench PART …` for some of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from bench import schedule, server, train, web

PARTS: Mapping[str, Callable[[], None]] = {
    "schedule": schedule.main,
    "train": train.main,
    "server": server.main,
    "web": web.main,
}


def main(names: list[str]) -> None:
    if unknown := [name for name in names if name not in PARTS]:
        sys.exit(f"unknown parts {unknown}; there are {sorted(PARTS)}")
    for name in names or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
