"""Modules of SaC functions that Python calls."""

import os
import statistics
import time
import weakref
from ctypes import byref, c_int32, c_void_p
from pathlib import Path

from ._arrays import Arguments, result
from ._errors import failure
from ._library import INTERRUPTED, OK, PENDING, Value, library, take_text

# Results of one call.
_ROOM = 64
# Between two looks for Ctrl-C.
_WAIT = 50
_Results = Value * _ROOM


class Timing:
    """Times of a call in seconds: `median`, `best` and all `runs`."""

    def __init__(self, runs):
        self.runs = runs
        self.median, self.best = statistics.median(runs), min(runs)

    def __repr__(self):
        return f"{_duration(self.median)} ({len(self.runs)} runs, best {_duration(self.best)})"


def _duration(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1 or unit == "us":
            return f"{seconds * scale:.3g} {unit}"


class Function:
    """A function of a module. Each combination of element types and shapes that it is called with gets an instance of its own."""

    def __init__(self, module, name):
        self._module, self.__name__ = module, name
        self._name = name.encode()

    def __call__(self, *arguments):
        session = self._module._session
        if session is None:
            raise ValueError("the module is closed")
        given = Arguments(arguments, self._module._copy)
        results, count, pending = _Results(), c_int32(), c_void_p()
        try:
            try:
                status = library.ravel_session_call(
                    session, self._name, given.values, len(arguments), _WAIT, results, _ROOM, byref(count), byref(pending)
                )
                while status == PENDING:
                    status = library.ravel_pending_wait(pending, _WAIT, results, _ROOM, byref(count))
                pending.value = None
            except KeyboardInterrupt:
                if pending.value:
                    _interrupt(pending, results, count)
                raise
            if status != OK:
                raise KeyboardInterrupt if status == INTERRUPTED else failure(status)
        finally:
            given.done()
        if count.value == 1:
            return result(results[0])
        return tuple(result(results[at]) for at in range(count.value)) if count.value else None

    @property
    def instances(self):
        """The compiled instances, such as `conv(float[28,28], float[5,5]) -> float[24,24]`."""
        text = library.ravel_session_instances(self._module._open(), self._name)
        return take_text(text).splitlines() if text else []

    def explain(self, *arguments):
        """What becomes of the with-loops of a call with such arguments: which are merged, vectorised, run on several threads."""
        given = Arguments(arguments, self._module._copy)
        try:
            text = library.ravel_session_explain(self._module._open(), self._name, given.values, len(arguments))
        finally:
            given.done()
        if not text:
            raise failure()
        return take_text(text)

    def time(self, *arguments, runs=30):
        """Calls the function once to compile it, then `runs` times with a clock."""
        self(*arguments)
        times = []
        for _ in range(max(1, runs)):
            start = time.perf_counter()
            self(*arguments)
            times.append(time.perf_counter() - start)
        return Timing(times)

    def __repr__(self):
        return f"<SaC function {self.__name__} of {self._module.__name__}>"


def _interrupt(pending, results, count):
    """Ends a call early, and waits until it has ended: a call that has just begun may have to be told twice."""
    while True:
        try:
            library.ravel_pending_interrupt(pending)
            status = library.ravel_pending_wait(pending, _WAIT, results, _ROOM, byref(count))
            if status == PENDING:
                continue
            pending.value = None
            if status == OK:
                for at in range(count.value):
                    result(results[at])
            return
        except KeyboardInterrupt:
            # It is being ended already.
            continue


class Module:
    """SaC definitions, compiled when they are called. Attributes are functions."""

    def __init__(self, name, copy=False):
        self.__name__ = name
        self._copy = copy
        self._session = library.ravel_session_new()
        if not self._session:
            raise failure()
        self._end = weakref.finalize(self, library.ravel_session_free, self._session)

    def _open(self):
        if self._session is None:
            raise ValueError("the module is closed")
        return self._session

    def define(self, source, name=None):
        """Adds definitions; those of the same name and parameter types are replaced."""
        label = name or f"<{self.__name__}>"
        status = library.ravel_session_define(self._open(), _encoded(label), _encoded(source))
        if status != OK:
            raise failure(status)

    def load(self, path):
        """Adds the definitions of a file."""
        status = library.ravel_session_load(self._open(), os.fsencode(path))
        if status != OK:
            raise failure(status)

    def close(self):
        """Ends the session; results stay valid."""
        self._session = None
        self._end()

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        function = Function(self, name)
        self.__dict__[name] = function
        return function

    def __getitem__(self, name):
        """A function by its full name, such as `Array::sum`."""
        return Function(self, name)

    def __dir__(self):
        text = library.ravel_session_functions(self._open())
        names = take_text(text).splitlines() if text else []
        return [*super().__dir__(), *names]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<SaC module {self.__name__}>"


def _encoded(text):
    encoded = text.encode()
    if b"\0" in encoded:
        raise ValueError("SaC text has no zero bytes")
    return encoded


def module(source, *, name=None, copy=False):
    """Compiles SaC definitions: `source` is the text, or the path of a file (a `Path`, or a text that ends in `.sac`).

    With `copy=True` arguments are copied, so that nobody can change them while SaC code uses them.
    """
    is_path = isinstance(source, os.PathLike) or (
        isinstance(source, str) and source.endswith(".sac") and "\n" not in source and "{" not in source
    )
    if not is_path and not isinstance(source, str):
        raise TypeError(f"a module is made of a text or a path, not of a {type(source).__name__}")
    made = Module(name or (Path(source).stem if is_path else "module"), copy)
    try:
        made.load(source) if is_path else made.define(source)
    except BaseException:
        made.close()
        raise
    return made
