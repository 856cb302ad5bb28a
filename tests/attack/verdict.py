"""What was measured, and whether a row holds."""

import math
from dataclasses import dataclass, field

RATIO_MAX, MEMORY_MIB_MAX = 3, 64
# Shorter waits are the noise of the machine, and compared as this; cards pass the database before they are sent.
FLOOR_MS = {"ping": 5, "update": 5, "rest": 5, "health": 5, "hook": 250}


@dataclass
class Window:
    """What was measured in one time."""

    p99: dict
    growth_mib: float
    cpu: float
    sent: int = 0
    bytes: int = 0
    outcomes: dict = field(default_factory=dict)


@dataclass
class Result:
    control: Window | None = None
    attack: Window | None = None
    after: dict | None = None
    judges: tuple = ()
    confirmed: bool = False
    is_dead: bool = False

    @property
    def ratios(self):
        ratio = lambda kind: max(self.attack.p99[kind], FLOOR_MS[kind]) / max(self.control.p99[kind], FLOOR_MS[kind])
        return {kind: math.inf if math.isinf(self.attack.p99[kind]) else ratio(kind) for kind in self.judges}

    @property
    def ratio(self):
        return max(self.ratios.values())

    @property
    def memory_mib(self):
        return max(0, self.attack.growth_mib - max(0, self.control.growth_mib))

    @property
    def holds(self):
        return not self.is_dead and self.ratio <= RATIO_MAX and self.memory_mib <= MEMORY_MIB_MAX

    @property
    def verdict(self):
        if self.holds:
            return "holds"
        if self.is_dead:
            return "BROKEN: the hub ended"
        why = [kind for kind, ratio in self.ratios.items() if ratio > RATIO_MAX] + ["memory"] * (self.memory_mib > MEMORY_MIB_MAX)
        return f"BROKEN: {', '.join(why)}" + " (measured once)" * (not self.confirmed)


def percentiles(waits):
    """The 99th percentiles. Without any wait nothing was served."""
    return {kind: sorted(each)[math.ceil(len(each) * 0.99) - 1] if each else math.inf for kind, each in waits.items()}
