"""Ravel in Python: SaC functions over NumPy arrays, compiled for the arrays at hand.

    import ravel
    m = ravel.module("use Array: all; double mean(double[n] a) | n > 0 { return sum(a) / tod(n); }")
    m.mean(numpy.arange(10.0))
"""

import operator

from ._arrays import empty
from ._errors import ArgumentError, CompileError, Error, Fault, NoFunction
from ._library import library as _libravel
from ._module import Function, Module, Timing, module

__version__ = _libravel.ravel_version().decode()


def set_threads(threads):
    """How many threads parallel with-loops use; by default RAVEL_THREADS, or the cores of the machine."""
    threads = operator.index(threads)
    if threads < 1:
        raise ValueError("at least one thread is needed")
    # Ravel has a limit of its own.
    _libravel.ravel_set_threads(min(threads, 2**31 - 1))


def load_ipython_extension(shell):
    """`%load_ext ravel`: the cell magic `%%ravel`."""
    from .magic import load

    load(shell)


__all__ = [
    "ArgumentError",
    "CompileError",
    "Error",
    "Fault",
    "Function",
    "Module",
    "NoFunction",
    "Timing",
    "empty",
    "module",
    "set_threads",
]
