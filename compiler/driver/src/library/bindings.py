import ctypes as _c
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

_lib = _c.CDLL(_os.path.join(_os.path.dirname(_os.path.abspath(__file__)), f"lib{__name__.rpartition('.')[2]}.so"))
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


_Fault = Fault


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
        if hasattr(value, "__dlpack__") and not isinstance(value, _np.ndarray):
            value = _np.from_dlpack(value)
        fits = isinstance(value, _np.ndarray) and value.dtype == _DTYPES[number]
        fits = fits and (shape is None or value.ndim == len(shape))
        return _np.require(value, requirements="CA") if fits else None
    kind = _TYPES[number][2]
    if isinstance(value, (_np.generic, _np.ndarray)):
        return kind(value.item() if name != "char" else ord(value.item())) if value.ndim == 0 and value.dtype == _DTYPES[number] else None
    if name == "bool" or isinstance(value, bool):
        return kind(value) if name == "bool" and isinstance(value, bool) else None
    if name == "char":
        return kind(value[0]) if isinstance(value, bytes) and len(value) == 1 else None
    if name in ("float", "double"):
        return kind(value) if isinstance(value, float) or loose and isinstance(value, int) else None
    return kind(value) if isinstance(value, int) and kind(value).value == value else None


class _Function:
    def __init__(self, name, forms):
        self.__name__ = self.__qualname__ = name
        self.__doc__ = "\n".join(form[1] for form in forms)
        self._forms = [(getattr(_lib, symbol), params, results) for symbol, _, params, results in forms]

    def __call__(self, *arguments):
        for loose in (False, True):
            for function, params, results in self._forms:
                if len(params) != len(arguments):
                    continue
                given = [_given(value, *param, loose) for value, param in zip(arguments, params)]
                if all(value is not None for value in given):
                    return _call(function, params, results, given)
        raise TypeError(f"{self.__name__} is called with ({', '.join(map(_shown, arguments))}); there is\n{self.__doc__}")

    def __repr__(self):
        return f"<SaC function {self.__name__}>"


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
        raise _Fault(words) if status == 1 else ValueError(words)
    made = [_made(place, name, shape) for place, (name, shape) in zip(places, results)]
    return made[0] if len(made) == 1 else tuple(made) or None


def _made(place, name, shape):
    if shape == ():
        return bytes([place.value]) if name == "char" else place.value
    made = _np.asarray(_Holder(place.value))
    return made.tobytes().decode("utf-8", "replace") if name == "string" else made
