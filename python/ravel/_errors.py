"""What goes wrong, as exceptions."""

import json

from . import _library
from ._library import library


class Error(Exception):
    """All errors of this package."""


class CompileError(Error):
    """The SaC text, or a call, is wrong. `diagnostics` has the reports as dictionaries: code, severity, title, labels, notes, help, fixes."""

    def __init__(self, text, diagnostics=()):
        super().__init__(text)
        self.diagnostics = list(diagnostics)


class ArgumentError(CompileError, TypeError):
    """No definition of a function takes these arguments."""


class NoFunction(Error, AttributeError, KeyError):
    """A module has no function of this name."""

    __str__ = Exception.__str__


class Fault(Error):
    """A run-time error of SaC code. `code` is the status that a program would end with."""

    def __init__(self, text, message="", file=None, line=None, column=None, function=None, code=1, excerpt=""):
        super().__init__(text)
        self.message, self.file, self.line, self.column = message, file, line, column
        self.function, self.code, self.excerpt = function, code, excerpt


def failure(status=None):
    """The exception for the last failure of this thread."""
    if status is None:
        status = library.ravel_last_status()
    text = (library.ravel_last_error() or b"").decode("utf-8", "replace").strip()
    details = (library.ravel_last_error_json() or b"").decode("utf-8", "replace")
    if status == _library.SOURCE:
        return CompileError(text, [json.loads(line) for line in details.splitlines() if line])
    if status == _library.FAULT:
        found = json.loads(details) if details else {}
        found["code"] = found.pop("status", 1)
        return Fault(text, **found)
    if status == _library.ARGUMENT:
        return TypeError(text)
    if status == _library.INTERRUPTED:
        return KeyboardInterrupt(text)
    return Error(text)
