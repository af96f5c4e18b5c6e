"""What a function of SaC takes, in the words of Python: names of arguments, and why a call does not fit."""

import inspect
import json

import numpy as np

from ._arrays import DTYPES, NAMES

_KINDS = {name: dtype for name, dtype in zip(NAMES, DTYPES) if name != "char"}
_KINDS.update(longlong=np.dtype("i8"), ulonglong=np.dtype("u8"))
_ELEMENTS = {dtype: name for dtype, name in zip(DTYPES, NAMES)}
_REAL = ("float", "double")
_Parameter = inspect.Parameter


class Head:
    """One definition of a function."""

    def __init__(self, told):
        self.name, self.text, self.comment = told["name"], told["head"], told["comment"]
        self.params, self.more = told["params"], told["more"]
        self.names = [param["name"] for param in self.params]

    def fits(self, count):
        return len(self.params) == count or self.more and len(self.params) <= count

    def bound(self, arguments, named):
        """The arguments in their order; nothing if they are not those of this definition."""
        if len(arguments) > len(self.names):
            return None
        rest = self.names[len(arguments) :]
        return [*arguments, *(named[name] for name in rest)] if sorted(rest) == sorted(named) else None


def read(text):
    """Heads by function, in the order of the text."""
    found = {}
    for line in text.splitlines():
        head = Head(json.loads(line))
        found.setdefault(head.name, []).append(head)
    return found


def signature(heads):
    """How Python calls a function with these definitions."""
    names = heads[0].names
    if any(head.names != names or head.more for head in heads):
        return inspect.Signature([_Parameter("arguments", _Parameter.VAR_POSITIONAL)])
    usual = all(name.isidentifier() for name in names) and len(set(names)) == len(names)
    kind = _Parameter.POSITIONAL_OR_KEYWORD if usual else _Parameter.POSITIONAL_ONLY
    names = names if usual else [f"argument{at}" for at, _ in enumerate(names, 1)]
    try:
        return inspect.Signature([_Parameter(name, kind) for name in names])
    except ValueError:
        # A word of Python.
        return inspect.Signature([_Parameter(f"{name}_", _Parameter.POSITIONAL_ONLY) for name in names])


def documentation(heads):
    lines = [head.text for head in heads]
    comments = dict.fromkeys(head.comment for head in heads if head.comment)
    return "\n".join(lines) + "".join(f"\n\n{comment}" for comment in comments)


def bind(function, heads, arguments, named):
    """The arguments of a call in their order. Definitions that have the same names in other orders cannot be told apart by them."""
    found = [bound for bound in (head.bound(arguments, named) for head in heads) if bound is not None]
    if not found:
        raise TypeError(f"{function} has no definition with {_listed(arguments, named)}; there is\n{_shown(heads)}")
    if any(one is not other for bound in found for one, other in zip(bound, found[0])):
        raise TypeError(f"{function} has definitions with these names in different orders: pass the arguments by position\n{_shown(heads)}")
    return found[0]


def _listed(arguments, named):
    words = [f"{len(arguments)} arguments" if len(arguments) != 1 else "1 argument"] if arguments else []
    return " and ".join([*words, ", ".join(f"`{name}`" for name in named)])


def _shown(heads):
    return "\n".join(f"    {head.text}" for head in heads[:8]) + ("\n    ..." if len(heads) > 8 else "")


def label(function, heads, at, count):
    """How messages name an argument."""
    fitting = [head for head in heads if head.fits(count) and at < len(head.names)] or [head for head in heads if at < len(head.names)]
    name = f" (`{fitting[0].names[at]}`)" if fitting else ""
    return f"argument {at + 1}{name} of `{function}`"


def wanted(heads, at, count):
    """The type of elements that all definitions want there, as NumPy has it; nothing if they differ."""
    found = {tuple(head.params[at]["elem"]) for head in heads if head.fits(count) and at < len(head.params)}
    elem = found.pop() if len(found) == 1 else ()
    return _KINDS.get(elem[0]) if len(elem) == 1 else None


def complaint(function, heads, arguments):
    """Why no definition takes these arguments, and what mends that; nothing if it is not to be seen from types and ranks."""
    fitting = [head for head in heads if head.fits(len(arguments))]
    if not fitting:
        return f"`{function}` {_counts(heads)}, not {len(arguments)}{_missing(heads, arguments)}\n{_shown(heads)}" if heads else None
    worst = [(head, [(at, why) for at, why in enumerate(map(_misfit, head.params, arguments)) if why]) for head in fitting]
    head, misfits = min(worst, key=lambda pair: len(pair[1]))
    if not misfits:
        return None
    several = len(fitting) > 1
    lines = [f"{label(function, [head], at, len(arguments))} {why}" for at, why in misfits]
    return "\n".join(lines) + f"\n{_shown(fitting if several else [head])}"


def _counts(heads):
    counts = sorted({len(head.params) for head in heads})
    words = " or ".join(map(str, counts))
    return f"takes {words} argument{'' if words == '1' else 's'}"


def _missing(heads, arguments):
    if len(heads) != 1 or len(arguments) > len(heads[0].names):
        return ""
    rest = heads[0].names[len(arguments) :]
    return f": {', '.join(f'`{name}`' for name in rest)} {'is' if len(rest) == 1 else 'are'} missing"


def _misfit(param, argument):
    """What is wrong with an argument; nothing if that may be all right."""
    elem, name = param["elem"], param["name"]
    if not elem:
        return None
    rank, dtype = np.ndim(argument) if hasattr(argument, "ndim") else 0, getattr(argument, "dtype", None)
    is_text = isinstance(argument, str)
    if "string" in elem:
        return None if is_text else f"is a string in SaC, not {_described(argument)}: str({name})"
    if is_text:
        return f"is {_either(elem)} in SaC, not a str" + (f": {_converted(elem[0])}({name})" if elem[0] != "char" else "")
    if dtype is None and hasattr(argument, "__dlpack__"):
        return None
    if not _has_element(elem, argument, dtype):
        return f"is {_either(elem)} in SaC, not {_described(argument)}: {_mended(elem[0], name, argument, dtype)}"
    if rank < param["least"] or param["most"] is not None and rank > param["most"]:
        return f"has {_axes(param)} in SaC, not {rank}" + _reshaped(param, name, argument, rank)
    return None


def _has_element(elem, argument, dtype):
    if dtype is not None:
        known = _ELEMENTS.get(dtype)
        return known in elem or known in ("long", "ulong") and f"{known[:-4]}longlong" in elem
    if isinstance(argument, bool):
        return "bool" in elem
    if isinstance(argument, float):
        return any(name in elem for name in _REAL)
    return not isinstance(argument, int) or any(name not in ("bool", "char") and _holds(name, argument) for name in elem)


def _holds(name, number):
    if name in _REAL:
        return True
    info = np.iinfo(_KINDS[name])
    return info.min <= number <= info.max


def _either(elem):
    return elem[0] if len(elem) == 1 else f"one of {', '.join(elem)}"


def _described(argument):
    dtype = getattr(argument, "dtype", None)
    if isinstance(argument, int) and not isinstance(argument, bool):
        return f"the int {argument}"
    if dtype is None:
        return f"a {type(argument).__name__}"
    return f"an array of {dtype}" if np.ndim(argument) else f"a scalar of {dtype}"


def _converted(elem):
    return "float" if elem in _REAL else "bool" if elem == "bool" else "int"


def _mended(elem, name, argument, dtype):
    if elem == "char":
        return f"{name}.astype('S1')" if dtype is not None else f"np.bytes_({name})"
    if dtype is not None and np.ndim(argument):
        return f"{name}.astype(np.{_KINDS[elem].name})"
    if dtype is not None:
        return f"np.{_KINDS[elem].name}({name})"
    if isinstance(argument, int) and not isinstance(argument, bool) and elem not in (*_REAL, "bool"):
        info = np.iinfo(_KINDS[elem])
        return f"it goes from {info.min} to {info.max}"
    return f"{_converted(elem)}({name})"


def _axes(param):
    least, most = param["least"], param["most"]
    if most is None:
        return f"{least} axes or more" if least != 1 else "1 axis or more"
    return f"{most} axis" if most == 1 else f"{most} axes"


def _reshaped(param, name, argument, rank):
    if param["most"] == 0:
        return f": {name}.item()" if np.size(argument) == 1 else ""
    if rank == 0:
        return f": np.array([{name}])" if param["least"] == 1 else ""
    return f": {name}.ravel()" if param["most"] == 1 else ""
