"""How the functions of this package reach their code."""

import ctypes as _c
import inspect as _inspect
import os as _os

import numpy as _np

# By the numbers of Ravel's element types: the type in SaC, in NumPy, and of scalars in C.
_TYPES = [
    ("bool", "?", _c.c_bool),
    ("char", "S1", _c.c_ubyte),
    ("byte", "i1", _c.c_int8),
    ("short", "i2", _c.c_int16),
    ("int", "i4", _c.c_int32),
    ("long", "i8", _c.c_int64),
    ("ubyte", "u1", _c.c_uint8),
    ("ushort", "u2", _c.c_uint16),
    ("uint", "u4", _c.c_uint32),
    ("ulong", "u8", _c.c_uint64),
    ("float", "f4", _c.c_float),
    ("double", "f8", _c.c_double),
]
_NUMBERS = {name: number for number, (name, _, _) in enumerate(_TYPES)}
_NUMBERS.update(longlong=5, ulonglong=9)
_DTYPES = [_np.dtype(dtype) for _, dtype, _ in _TYPES]

# Extents are `int` in SaC.
_EXTENTS = 2**31
# What holds nothing but elements in the order of its shape.
_PLAIN = (_np.ndarray, _np.matrix, _np.memmap)

_lib = _c.CDLL(_os.path.join(_os.path.dirname(_os.path.abspath(__file__)), f"lib{__package__.rpartition('.')[2]}.so"))
_pointer, _extent = _c.c_void_p, _c.c_int64
for _name, _result, _arguments in [
    ("ravel_array_borrow", _pointer, [_pointer, _c.c_int32, _c.c_int32, _pointer, _pointer, _pointer]),
    ("ravel_array_data", _pointer, [_pointer]),
    ("ravel_array_shape", _c.POINTER(_extent), [_pointer]),
    ("ravel_array_rank", _c.c_int32, [_pointer]),
    ("ravel_array_size", _extent, [_pointer]),
    ("ravel_array_type", _c.c_int32, [_pointer]),
    ("ravel_array_release", None, [_pointer]),
    ("ravel_last_error", _c.c_char_p, []),
]:
    getattr(_lib, _name).restype, getattr(_lib, _name).argtypes = _result, _arguments


class Fault(Exception):
    """A run-time error of SaC code."""


Fault.__module__ = __package__


class _Holder:
    """Owns a result as long as a NumPy array looks at it."""

    def __init__(self, object):
        self.object = object
        shape = _lib.ravel_array_shape(object)[: _lib.ravel_array_rank(object)]
        typestr = _DTYPES[_lib.ravel_array_type(object)].str
        data = (_lib.ravel_array_data(object), False)
        self.__array_interface__ = {"version": 3, "typestr": typestr, "shape": tuple(shape), "data": data}

    def __del__(self, release=_lib.ravel_array_release):
        release(self.object)


def _given(value, name, shape, loose):
    """An argument as the parameter has it, nothing if it is none. `loose` takes whole numbers for real ones."""
    if name == "string":
        return value.encode() if isinstance(value, str) and "\0" not in value else None
    number = _NUMBERS[name]
    if shape != ():
        fits = isinstance(value, _np.ndarray) and value.dtype == _DTYPES[number]
        fits = fits and (shape is None or value.ndim == len(shape))
        return _np.require(value, requirements="CA") if fits else None
    kind = _TYPES[number][2]
    if isinstance(value, (_np.generic, _np.ndarray)):
        if value.ndim or value.dtype != _DTYPES[number]:
            return None
        return kind(value.item() if name != "char" else value.tobytes()[0])
    if name == "bool" or isinstance(value, bool):
        return kind(value) if name == "bool" and isinstance(value, bool) else None
    if name == "char":
        return kind(value[0]) if isinstance(value, bytes) and len(value) == 1 else None
    if name in ("float", "double"):
        return kind(value) if isinstance(value, float) or loose and isinstance(value, int) else None
    return kind(value) if isinstance(value, int) and kind(value).value == value else None


def _plain(value, label):
    """An argument as a NumPy array of no class of its own, if it is an array: what such a class says beside the elements is not to be lost."""
    if isinstance(value, _np.ma.MaskedArray):
        raise TypeError(
            f"{label} is a masked array, and SaC has no masks: .filled(value) gives masked elements a value, .compressed() leaves them out"
        )
    if isinstance(value, _np.ndarray):
        if type(value) not in _PLAIN and value.dtype.names is None:
            raise TypeError(f"{label} is a {type(value).__name__}: np.asarray(..) has its elements alone")
    elif hasattr(value, "__dlpack__") and not isinstance(value, _np.generic):
        try:
            value = _np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise TypeError(f"{label} is a {type(value).__name__} that NumPy cannot take over: {error}") from error
    else:
        return value
    if max(value.shape, default=0) >= _EXTENTS:
        raise ValueError(f"{label} has an axis of {max(value.shape)}: SaC counts by int, up to {_EXTENTS - 1}")
    return _np.asarray(value)


class Function:
    """A function of SaC."""

    def __init__(self, package, name, forms):
        self.__module__, self.__name__, self.__qualname__ = package, name, name
        self.__doc__ = "\n".join(form[1] for form in forms)
        self._forms = [(getattr(_lib, symbol), names, params, results) for symbol, _, names, params, results in forms]
        names = forms[0][2]
        if all(form[2] == names for form in forms):
            self.__signature__ = _inspect.Signature([_inspect.Parameter(one, _inspect.Parameter.POSITIONAL_OR_KEYWORD) for one in names])

    def __call__(self, /, *arguments, **named):
        arguments = [_plain(value, f"argument {at} of {self.__name__}") for at, value in enumerate(arguments, 1)]
        named = {name: _plain(value, f"`{name}` of {self.__name__}") for name, value in named.items()}
        for loose in (False, True):
            for function, names, params, results in self._forms:
                values = _bound(names, arguments, named)
                if values is None:
                    continue
                given = [_given(value, *param, loose) for value, param in zip(values, params)]
                if all(value is not None for value in given):
                    return _call(function, params, results, given)
        raise TypeError(self._complaint(arguments, named))

    def _complaint(self, arguments, named):
        """Why no form takes these arguments, and what mends that."""
        shown = [*map(_shown, arguments), *(f"{name}={_shown(value)}" for name, value in named.items())]
        best = None
        for _, names, params, _ in self._forms:
            values = _bound(names, arguments, named)
            if values is not None:
                hints = [hint for hint in map(_hint, values, names, params) if hint]
                best = hints if best is None or len(hints) < len(best) else best
        hints = "".join(f"; {hint}" for hint in best or ())
        return f"{self.__name__} is called with ({', '.join(shown)}){hints}; there is\n{self.__doc__}"

    def __reduce__(self):
        return self.__name__

    def __repr__(self):
        return f"<SaC function {self.__name__}>"


def _bound(names, arguments, named):
    """The arguments in the order of the parameters; nothing if they are not these."""
    rest = names[len(arguments) :]
    if len(arguments) + len(named) != len(names) or any(name not in named for name in rest):
        return None
    return [*arguments, *(named[name] for name in rest)]


def _hint(value, name, param):
    """What would be the argument."""
    elem, shape = param
    if _given(value, elem, shape, True) is not None:
        return None
    if elem == "string":
        return f"`{name}` is a str without zeros"
    dtype = _DTYPES[_NUMBERS[elem]]
    converted = "float" if elem in ("float", "double") else "bool" if elem == "bool" else "int"
    if shape == ():
        if isinstance(value, (_np.generic, _np.ndarray)) and value.size == 1:
            return f"`{name}` is {elem} in SaC: np.{dtype.name}({name}.item())"
        if converted == "int" and isinstance(value, int) and not isinstance(value, bool):
            return f"`{name}` is {elem} in SaC, which does not have {value}"
        return f"`{name}` is {elem} in SaC" + (f": {converted}({name})" if isinstance(value, (int, float, str)) else "")
    if not isinstance(value, _np.ndarray):
        return f"`{name}` is an array in SaC: np.array({name}, np.{dtype.name})"
    if value.dtype.names is not None:
        return f"`{name}` is {elem} in SaC: pass a field, such as {name}[{(*value.dtype.names, '')[0]!r}]"
    if value.dtype.kind == "c":
        return f"`{name}` is {elem} in SaC, where complex numbers are double[.., 2]: .view('f8').reshape({name}.shape + (2,))"
    if value.dtype != dtype:
        return f"`{name}` is {elem} in SaC: {name}.astype(np.{dtype.name})"
    return f"`{name}` has {len(shape)} {'axis' if len(shape) == 1 else 'axes'} in SaC, not {value.ndim}"


def _shown(value):
    if isinstance(value, _np.ndarray):
        return f"{value.dtype}[{','.join(map(str, value.shape))}]"
    return type(value).__name__


def _call(function, params, results, given):
    passed, lent = [], []
    try:
        for value, (name, shape) in zip(given, params):
            if name == "string" or shape == ():
                passed.append(value)
                continue
            extents = (_extent * value.ndim)(*value.shape)
            if shape is None:
                number = _NUMBERS[name]
                lent.append(_lib.ravel_array_borrow(value.ctypes.data, number, value.ndim, extents, None, None))
                if not lent[-1]:
                    raise ValueError(_lib.ravel_last_error().decode("utf-8", "replace"))
                passed.append(_pointer(lent[-1]))
            else:
                passed += [_pointer(value.ctypes.data), extents]
        places = [_TYPES[_NUMBERS[name]][2]() if shape == () else _pointer() for name, shape in results]
        status = function(*passed, *map(_c.byref, places))
    finally:
        for object in lent:
            _lib.ravel_array_release(object)
    if status:
        words = _lib.ravel_last_error().decode("utf-8", "replace")
        raise Fault(words) if status == 1 else ValueError(words)
    made = [_made(place, name, shape) for place, (name, shape) in zip(places, results)]
    return made[0] if len(made) == 1 else tuple(made) or None


def _made(place, name, shape):
    if shape == ():
        return bytes([place.value]) if name == "char" else place.value
    made = _np.asarray(_Holder(place.value))
    return made.tobytes().decode("utf-8", "replace") if name == "string" else made
