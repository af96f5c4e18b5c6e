"""References for the programs of tests/gradients, from JAX in double precision.

`python3 reference.py [NAMES]` runs `NAME.py` for these programs, or for all; each writes `NAME.ref` beside itself, in the
format of `../library/cases.py` and from the same inputs (`noise`, `whole`). Needs jax and numpy.

What a gradient may be off, `CLOSE`: a program of this folder makes some thousand roundings at most, JAX makes others in another order,
and an element that is a sum of cancelling terms inherits the roundings of the greatest. 1e-12 of the greatest element of an array bears some
4,000 roundings of its size; the programs need some 100 of them at most. A term that is left out, counted twice or taken at the wrong place
changes an element by far more. Floats bear 800 roundings of theirs, for the steps of an exponential on the way are floats, too. Scalar functions
near singular points have elements of very different sizes: each is compared by itself.
"""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "library"))

import jax
import numpy as np

from cases import DTYPE, EPS, Table, noise, whole

jax.config.update("jax_enable_x64", True)

CLOSE = {"double": 1e-12, "float": 1e-4}


class Gradients(Table):
    """A table whose values are compared by the greatest element of each array."""

    def show(self, name, value, kind="double", close=None):
        """An array; `close` is what it may be off, as a part of its greatest finite element."""
        value = np.asarray(value, dtype=np.float64)
        finite = np.abs(value[np.isfinite(value)])
        greatest = np.max(finite, initial=0)
        self.add(name, value, kind, absolute=(close or CLOSE[kind]) * greatest)

    def each(self, name, value, kind="double", close=None):
        """An array whose elements are compared one by one."""
        self.add(name, value, kind, rel=(close or CLOSE[kind]) / EPS[kind])

    def value_grad(self, name, f, *x, **options):
        """`NAME` is f(x..), `NAME d0`, `NAME d1`, .. are the gradients in the order of the arguments."""
        value, slopes = jax.value_and_grad(f, argnums=tuple(range(len(x))))(*x)
        self.show(name, value, **options)
        for at, slope in enumerate(slopes):
            self.show(f"{name} d{at}", slope, **options)


def main():
    names = sys.argv[1:] or sorted(path.stem for path in HERE.glob("*.py") if path.name != "reference.py")
    for name in names:
        sys.argv[0] = str(HERE / f"{name}.py")
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
