"""Modules of SaC functions that Python calls."""

import difflib
import hashlib
import os
import statistics
import threading
import time
import weakref
from ctypes import byref, c_int32, c_void_p
from pathlib import Path

from . import _heads
from ._arrays import Arguments, result
from ._errors import ArgumentError, CompileError, Error, NoFunction, failure
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

    def __init__(self, module, name, heads=()):
        self._module, self.__name__, self.__qualname__ = module, name, name
        self._name = name.encode()
        self._described(heads)

    def _described(self, heads):
        """Takes the definitions that the function has by now."""
        self._heads = heads
        for name in ("__doc__", "__signature__"):
            self.__dict__.pop(name, None)
        if heads:
            self.__doc__, self.__signature__ = _heads.documentation(heads), _heads.signature(heads)

    def __call__(self, /, *arguments, **named):
        session = self._module._session or self._module._open()
        if named:
            arguments = self._bound(arguments, named)
        given = Arguments(arguments, self._module._copy, self._label, self._wanted)
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
                raise KeyboardInterrupt if status == INTERRUPTED else self._failure(failure(status), arguments)
        finally:
            given.done()
        if count.value == 1:
            return result(results[0])
        return tuple(result(results[at]) for at in range(count.value)) if count.value else None

    def _bound(self, arguments, named):
        return _heads.bind(f"`{self.__name__}`", self._heads, arguments, named)

    def _label(self, at, count):
        return _heads.label(self.__name__, self._heads, at, count)

    def _wanted(self, at, count):
        return _heads.wanted(self._heads, at, count)

    def _failure(self, error, arguments):
        """What is wrong with a call, in the words of Python, where the arguments are what is wrong."""
        reports = error.diagnostics if isinstance(error, CompileError) else []
        place = (reports[0].get("place") or {}) if reports else {}
        if not place.get("file", "").startswith("<call of "):
            return error
        if reports[0]["code"] in ("E0205", "E0210"):
            return NoFunction(f"the module {self._module.__name__} has no function `{self.__name__}` any more")
        words = _heads.complaint(self.__name__, self._heads, arguments)
        if words and reports[0]["code"] in ("E0211", "E0310"):
            reports[0]["help"] = words
            return ArgumentError(words, reports)
        return ArgumentError(str(error), reports)

    @property
    def instances(self):
        """The compiled instances, such as `conv(float[28,28], float[5,5]) -> float[24,24]`."""
        text = library.ravel_session_instances(self._module._open(), self._name)
        return take_text(text).splitlines() if text else []

    def explain(self, /, *arguments, **named):
        """What becomes of the with-loops of a call with such arguments: which are merged, vectorised, run on several threads."""
        session = self._module._open()
        if named:
            arguments = self._bound(arguments, named)
        given = Arguments(arguments, self._module._copy, self._label, self._wanted)
        try:
            text = library.ravel_session_explain(session, self._name, given.values, len(arguments))
        finally:
            given.done()
        if not text:
            raise self._failure(failure(), arguments)
        return take_text(text)

    def time(self, /, *arguments, runs=30, **named):
        """Calls the function once to compile it, then `runs` times with a clock."""
        self(*arguments, **named)
        times = []
        for _ in range(max(1, runs)):
            start = time.perf_counter()
            self(*arguments, **named)
            times.append(time.perf_counter() - start)
        return Timing(times)

    def __reduce__(self):
        return _function, (self._module, self.__name__)

    def __copy__(self):
        return self

    def __deepcopy__(self, _):
        return self

    def __repr__(self):
        return f"<SaC function {self.__name__} of {self._module.__name__}>"


def _function(module, name):
    """A function that was pickled. It is looked up when it is called, since what fails here would end a process of a pool without a word."""
    return module._made(name, ())


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
        self._begin(name, copy)
        self._session, self._end = self._start()

    def _begin(self, name, copy):
        self.__name__ = name
        self._copy = copy
        self._session = self._end = None
        # What `define` and `load` were given, as `_rebuilt` takes it.
        self._given = []
        # It has no session yet: that begins when somebody asks for it.
        self._waits = False
        self._functions, self._names = {}, {}
        self._lock = threading.RLock()

    def _start(self):
        session = library.ravel_session_new()
        if not session:
            raise failure()
        return session, weakref.finalize(self, library.ravel_session_free, session)

    def _open(self):
        if self._session is None:
            with self._lock:
                if self._waits:
                    self._replay()
            if self._session is None:
                raise ValueError("the module is closed")
        return self._session

    def _replay(self):
        """Makes the session of a module that was copied. If that fails, the next call says so again."""
        given, self._given = self._given, []
        session, end = self._start()
        try:
            for kind, *what in given:
                self._take_text(session, *what) if kind == "text" else self._take_file(session, *what)
            self._refresh(session)
        except BaseException:
            self._given = given
            end()
            raise
        self._session, self._end, self._waits = session, end, False

    def define(self, source, name=None):
        """Adds definitions; those of the same name and parameter types are replaced."""
        session = self._open()
        _rebuilt_modules.forget(self)
        self._take_text(session, source, name or f"<{self.__name__}>")
        self._refresh(session)

    def _take_text(self, session, source, label):
        status = library.ravel_session_define(session, _encoded(label), _encoded(source))
        if status != OK:
            raise failure(status)
        self._given.append(("text", source, label))

    def load(self, path):
        """Adds the definitions of a file; of a module what it exports."""
        session = self._open()
        _rebuilt_modules.forget(self)
        self._take_file(session, os.path.abspath(os.fsdecode(path)), os.fsdecode(path), _digest(path))
        self._refresh(session)

    def _take_file(self, session, path, shown, digest):
        """`shown` is the path as it was given, which reports show as long as it leads there."""
        if digest is not None and _digest(path) != digest:
            why = "it has changed since the module was made" if os.path.exists(path) else "it is gone"
            raise Error(f"the module {self.__name__} cannot be made once more from {path}: {why}")
        leads_there = os.path.abspath(shown) == path
        status = library.ravel_session_load(session, _without_zeros(os.fsencode(shown if leads_there else path)))
        if status != OK:
            raise failure(status)
        self._given.append(("file", path, shown, digest))

    def _refresh(self, session):
        """Asks what functions there are by now."""
        text = library.ravel_session_heads(session, None)
        self._names = _heads.read(take_text(text)) if text else {}
        for name in [name for name in self.__dict__ if isinstance(self.__dict__[name], Function)]:
            del self.__dict__[name]
        for name, function in list(self._functions.items()):
            function._described(self._known(session, name))

    def _known(self, session, name):
        """The definitions that a name means; none if there are none."""
        heads = self._names.get(name)
        if heads is None:
            text = library.ravel_session_heads(session, _encoded(name))
            heads = [head for found in _heads.read(take_text(text) if text else "").values() for head in found]
        return heads

    def close(self):
        """Ends the session; results stay valid."""
        _rebuilt_modules.forget(self)
        self._session, self._waits = None, False
        if self._end is not None:
            self._end()

    def _made(self, name, heads):
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = Function(self, name, heads)
        return function

    def _function(self, name):
        # A closed one still knows the names of its own.
        is_closed = self._session is None and not self._waits
        heads = self._names.get(name) if is_closed else self._known(self._open(), name)
        if not heads:
            near = difflib.get_close_matches(name, self._names, 1)
            meant = f"; did you mean `{near[0]}`?" if near else ""
            if not near and 0 < len(self._names) <= 10:
                meant = f"; it has {', '.join(f'`{name}`' for name in self._names)}"
            raise NoFunction(f"the module {self.__name__} has no function `{name}`{meant}")
        return self._made(name, heads)

    def __getattr__(self, name):
        # Python and its tools look for many such names; functions of SaC rarely begin so.
        if name.startswith("_") and ("_names" not in self.__dict__ or name not in self._names):
            raise AttributeError(name)
        function = self._function(name)
        self.__dict__[name] = function
        return function

    def __getitem__(self, name):
        """A function by its full name, such as `Array::sum`."""
        if not isinstance(name, str):
            raise TypeError(f"functions have names, not {type(name).__name__}")
        return self._function(name)

    def __dir__(self):
        if self._waits:
            self._open()
        return [*super().__dir__(), *self._names]

    def __reduce__(self):
        if self._session is None and not self._waits:
            raise TypeError("a module that is closed cannot be pickled")
        return _rebuilt, (self.__name__, self._copy, tuple(self._given))

    def __copy__(self):
        """A module of the same texts, with global objects of its own."""
        return _waiting(*self.__reduce__()[1])

    def __deepcopy__(self, _):
        return self.__copy__()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<SaC module {self.__name__}>"


def _digest(path):
    """What the content of a file is told by; nothing where it cannot be read, which Ravel says better."""
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return None


def _waiting(name, copy, given):
    made = Module.__new__(Module)
    made._begin(name, copy)
    made._given, made._waits = list(given), True
    return made


class _Rebuilt:
    """The modules that were made of pickles last: a pool sends one with each task, and it is to be compiled once. A copy of the process by
    `fork` has none, since it has none of their threads."""

    _MOST = 16

    def __init__(self):
        self._process, self._modules = os.getpid(), {}

    def get(self, key):
        if self._process != os.getpid():
            self.__init__()
        made = self._modules.pop(key, None) or _waiting(*key)
        self._modules[key] = made
        if len(self._modules) > self._MOST:
            del self._modules[next(iter(self._modules))]
        return made

    def forget(self, module):
        """The module becomes another one than its pickle says."""
        for key in [key for key, known in list(self._modules.items()) if known is module]:
            del self._modules[key]


_rebuilt_modules = _Rebuilt()


def _rebuilt(name, copy, given):
    """A module that was pickled."""
    return _rebuilt_modules.get((name, copy, given))


def _encoded(text):
    if not isinstance(text, str):
        raise TypeError(f"SaC text is a str, not a {type(text).__name__}")
    return _without_zeros(text.encode())


def _without_zeros(text):
    if b"\0" in text:
        raise ValueError("SaC text has no zero bytes")
    return text


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
