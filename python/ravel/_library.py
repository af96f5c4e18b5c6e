"""libravel through ctypes: where it is, and the types of its functions."""

import ctypes
import os
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_uint64, c_void_p
from pathlib import Path

OK, FAULT, ARGUMENT, SOURCE, INTERRUPTED, PENDING, INTERNAL = range(7)
SCALAR, ARRAY, TEXT, TRUTH, WHOLE, REAL = range(6)


class Value(Structure):
    """`ravel_value`."""

    _fields_ = [("form", c_int32), ("type", c_int32), ("bits", c_uint64)]


def _places():
    """`RAVEL_LIBRARY`, beside this file (an installed wheel), or where cargo builds it."""
    asked = os.environ.get("RAVEL_LIBRARY")
    if asked:
        return [Path(asked)]
    here = Path(__file__).resolve().parent
    return [here / "libravel.so", here.parent.parent / "target" / "release" / "libravel.so"]


def _load():
    places = _places()
    for place in places:
        if place.is_file():
            return ctypes.CDLL(str(place))
    looked = ", ".join(str(place) for place in places)
    raise ImportError(f"libravel.so was not found (looked for {looked}); set RAVEL_LIBRARY to its path")


library = _load()

_VALUES = POINTER(Value)
_DECLARED = {
    "ravel_session_new": (c_void_p, []),
    "ravel_session_free": (None, [c_void_p]),
    "ravel_session_define": (c_int32, [c_void_p, c_char_p, c_char_p]),
    "ravel_session_load": (c_int32, [c_void_p, c_char_p]),
    "ravel_session_call": (
        c_int32,
        [c_void_p, c_char_p, _VALUES, c_int32, c_int32, _VALUES, c_int32, POINTER(c_int32), POINTER(c_void_p)],
    ),
    "ravel_pending_wait": (c_int32, [c_void_p, c_int32, _VALUES, c_int32, POINTER(c_int32)]),
    "ravel_pending_interrupt": (None, [c_void_p]),
    "ravel_session_explain": (c_void_p, [c_void_p, c_char_p, _VALUES, c_int32]),
    "ravel_session_instances": (c_void_p, [c_void_p, c_char_p]),
    "ravel_session_functions": (c_void_p, [c_void_p]),
    "ravel_session_heads": (c_void_p, [c_void_p, c_char_p]),
    "ravel_text_free": (None, [c_void_p]),
    "ravel_last_status": (c_int32, []),
    "ravel_last_error": (c_char_p, []),
    "ravel_last_error_json": (c_char_p, []),
    "ravel_set_threads": (None, [c_int32]),
    "ravel_version": (c_char_p, []),
    "ravel_array_new": (c_void_p, [c_int32, c_int32, POINTER(c_int64)]),
    "ravel_array_borrow": (c_void_p, [c_void_p, c_int32, c_int32, POINTER(c_int64), c_void_p, c_void_p]),
    "ravel_array_data": (c_void_p, [c_void_p]),
    "ravel_array_shape": (POINTER(c_int64), [c_void_p]),
    "ravel_array_rank": (c_int32, [c_void_p]),
    "ravel_array_size": (c_int64, [c_void_p]),
    "ravel_array_shared": (c_int32, [c_void_p]),
    "ravel_array_release": (None, [c_void_p]),
    "ravel_string_new": (c_void_p, [c_char_p, c_int64]),
}
for _name, (_result, _arguments) in _DECLARED.items():
    _function = getattr(library, _name)
    _function.restype, _function.argtypes = _result, _arguments

# These take a microsecond or less: for them the lock of the interpreter is not worth giving up.
_quick = ctypes.PyDLL(library._name)
for _name in (
    "ravel_array_data",
    "ravel_array_shape",
    "ravel_array_rank",
    "ravel_array_shared",
    "ravel_array_release",
):
    _function = getattr(_quick, _name)
    _function.restype, _function.argtypes = _DECLARED[_name]
array_data = _quick.ravel_array_data
array_shape = _quick.ravel_array_shape
array_rank = _quick.ravel_array_rank
array_shared = _quick.ravel_array_shared
array_release = _quick.ravel_array_release


def take_text(address):
    """A text that the library gave away."""
    text = ctypes.string_at(address).decode("utf-8", "replace")
    library.ravel_text_free(address)
    return text
