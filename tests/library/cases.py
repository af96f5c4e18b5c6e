"""Tables of references for the programs of tests/library.

`python3 <module>.py` beside `<module>.sac` writes `<module>.ref`: for every line that the program reports one line here,
    name | type | shape | rel | abs | elements
A result x for the reference r is right if |x - r| <= rel * eps * |r| + abs, where eps is that of the type. The references
are computed in double precision, from the same inputs as in SaC (`noise`, `whole`).
Needs numpy, scipy and, for networks, torch.
"""

import sys
from pathlib import Path

import numpy as np

EPS = {"float": 2.0**-23, "double": 2.0**-52}
DTYPE = {"float": np.float32, "double": np.float64}


def step(seed, count):
    i = np.arange(count, dtype=np.int64)
    return (i * 48271 + seed * 69621 + 11) * (i + 7) % 9973


def noise(seed, shape, kind="double"):
    """The reals that `noise` of Cases.sac gives, as doubles (rounded to float for that type)."""
    x = step(seed, int(np.prod(shape))) / 9973 * 4 - 2
    return x.astype(DTYPE[kind]).astype(np.float64).reshape(shape)


def whole(seed, shape, n):
    """The numbers from 0 to n-1 that `whole` of Cases.sac gives."""
    return (step(seed, int(np.prod(shape))) % n).reshape(shape)


def differences(f, x, step=1e-5):
    """Central differences of a number, for each element of x. What is linear in x bears any step."""
    x = np.array(x)
    slope = np.zeros_like(x)
    for at in np.ndindex(*x.shape):
        keep = x[at]
        x[at] = keep + step
        above = f(x)
        x[at] = keep - step
        slope[at] = (above - f(x)) / (2 * step)
        x[at] = keep
    return slope


class Table:
    """Collects cases and writes them beside the script."""

    def __init__(self):
        self.lines = []

    def add(self, name, value, kind, rel=0.0, absolute=0.0):
        """A case: rel counts roundings of the type, absolute is a number (say 8 * eps * sum of |terms|)."""
        value = np.asarray(value)
        if kind in EPS:
            text = [repr(float(x)) for x in value.ravel()]
        else:
            text = [str(int(x)) for x in value.ravel()]
        shape = " ".join(str(n) for n in value.shape)
        self.lines.append(f"{name} | {kind} | {shape} | {rel:g} | {float(absolute):.3g} | {' '.join(text)}")

    def exact(self, name, value, kind):
        """The same elements, reals too."""
        self.add(name, value, kind)

    def elementwise(self, name, value, kind, ulps=4):
        """Each element within some roundings."""
        self.add(name, value, kind, rel=ulps)

    def summed(self, name, value, kind, magnitude):
        """A sum: 8 eps times the greatest sum of |terms|, beside 4 roundings."""
        self.add(name, value, kind, rel=4, absolute=8 * EPS[kind] * float(np.max(magnitude, initial=0)))

    def write(self):
        path = Path(sys.argv[0]).with_suffix(".ref")
        path.write_text("\n".join(self.lines) + "\n")
        print(f"{path.name}: {len(self.lines)} cases")
