"""NumPy arrays over objects of Ravel, and the other way round.

An argument that is C-contiguous is lent: Ravel gets a header of its own before the same elements. A result is a NumPy array over Ravel's object,
which goes with it.
"""

import struct
import threading
from ctypes import addressof, c_char, c_int64

import numpy as np

from ._errors import failure
from ._library import ARRAY, REAL, SCALAR, TEXT, TRUTH, WHOLE, Value, library
from ._library import array_data, array_rank, array_release, array_shape, array_shared

# By the numbers of ravel.h.
DTYPES = [np.dtype(name) for name in ("?", "S1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")]
TYPES = {dtype: number for number, dtype in enumerate(DTYPES)}
NAMES = ("bool", "char", "byte", "short", "int", "long", "ubyte", "ushort", "uint", "ulong", "float", "double")
_STRINGS = [dtype.str for dtype in DTYPES]
_WORDS = {10: struct.Struct("<f4x"), 11: struct.Struct("<d")}
_WORD = struct.Struct("<Q")
_DOUBLE = _WORDS[11]
_LONG = range(-(2**63), 2**63)


class Holder:
    """Owns a reference to an object of Ravel, as long as a NumPy array looks at it."""

    __slots__ = ("object", "__array_interface__")

    def __init__(self, object, type):
        self.object = object
        rank = array_rank(object)
        self.__array_interface__ = {
            "version": 3,
            "typestr": _STRINGS[type],
            "shape": tuple(array_shape(object)[:rank]),
            "data": (array_data(object), array_shared(object) != 0),
        }

    def __del__(self, release=array_release):
        release(self.object)


def empty(shape, dtype="f8"):
    """A new array, all zero, in memory of Ravel: as an argument it never has to be copied."""
    dtype = np.dtype(dtype)
    type = _type_of(dtype, "an array")
    shape = (int(shape),) if np.ndim(shape) == 0 else tuple(int(extent) for extent in shape)
    object = library.ravel_array_new(type, len(shape), _extents(shape))
    if not object:
        raise failure(2)
    return np.asarray(Holder(object, type))


def _type_of(dtype, what):
    type = TYPES.get(dtype)
    if type is None:
        if not dtype.isnative:
            hint = f"its bytes are in the order of other machines; .astype({dtype.newbyteorder('=').str!r}) turns them"
        elif dtype.kind == "c":
            hint = "complex numbers are double[.., 2] in SaC: .view('f8').reshape(a.shape + (2,))"
        elif dtype == np.float16:
            hint = ".astype('f4') makes a float array"
        else:
            hint = "the types are " + ", ".join(f"{d.name} ({n})" for d, n in zip(DTYPES, NAMES) if n != "char")
        raise TypeError(f"{what} has elements of type {dtype}, which SaC does not have; {hint}")
    return type


_shapes = {}


def _extents(shape):
    known = _shapes.get(shape)
    if known is None:
        if len(_shapes) > 1000:
            _shapes.clear()
        known = _shapes[shape] = (c_int64 * len(shape))(*shape)
    return known


# Objects of arguments that results or global objects of SaC still use, with the arrays that own their elements.
_pinned = []
_pin_lock = threading.Lock()


def _sweep():
    with _pin_lock:
        still = []
        for object, owner in _pinned:
            if array_shared(object):
                still.append((object, owner))
            else:
                array_release(object)
        _pinned[:] = still


class Arguments:
    """The arguments of one call as C values; `done` gives back what they hold."""

    __slots__ = ("values", "lent")

    def __init__(self, arguments, copy):
        self.values = (Value * len(arguments))()
        self.lent = []
        try:
            for at, argument in enumerate(arguments):
                self._put(self.values[at], at, argument, copy)
        except BaseException:
            self.done()
            raise

    def _put(self, value, at, argument, copy):
        kind = type(argument)
        if kind is np.ndarray:
            self._put_array(value, at, argument, copy)
        elif kind is float:
            value.form, value.bits = REAL, _WORD.unpack(_DOUBLE.pack(argument))[0]
        elif kind is bool:
            value.form, value.bits = TRUTH, argument
        elif kind is int:
            if argument not in _LONG:
                raise OverflowError(f"argument {at + 1} is {argument}, which no integer type of SaC has")
            value.form, value.bits = WHOLE, argument & 0xFFFF_FFFF_FFFF_FFFF
        elif kind is str:
            text = argument.encode()
            object = library.ravel_string_new(text, len(text))
            value.form, value.bits = TEXT, object
            self.lent.append((object, None))
        elif isinstance(argument, np.generic):
            value.form, value.type = SCALAR, _type_of(argument.dtype, f"argument {at + 1}")
            value.bits = int.from_bytes(argument.tobytes().ljust(8, b"\0"), "little")
        elif isinstance(argument, np.ndarray):
            self._put_array(value, at, np.asarray(argument), copy)
        elif hasattr(argument, "__dlpack__"):
            self._put_array(value, at, np.from_dlpack(argument), copy)
        elif hasattr(argument, "__index__"):
            self._put(value, at, int(argument), copy)
        else:
            raise TypeError(
                f"argument {at + 1} is a {kind.__name__}: SaC takes NumPy arrays, numbers, bools and strings"
                + ("; np.array(..) makes an array of a list" if kind in (list, tuple) else "")
            )

    def _put_array(self, value, at, array, copy):
        type = TYPES.get(array.dtype)
        if type is None:
            type = _type_of(array.dtype, f"argument {at + 1}")
        shape = array.shape
        if not shape:
            value.form, value.type = SCALAR, type
            value.bits = int.from_bytes(array.tobytes().ljust(8, b"\0"), "little")
            return
        if copy or not array.flags.c_contiguous:
            array = np.array(array, order="C", copy=True)
        try:
            # A third of the time of `__array_interface__`.
            address = addressof(c_char.from_buffer(array))
        except (TypeError, ValueError):
            # It cannot be written, or is empty.
            address = array.__array_interface__["data"][0]
        holder = array.base
        if holder.__class__ is Holder:
            own = holder.__array_interface__
            if own["data"][0] == address and own["shape"] == shape and own["typestr"] == _STRINGS[type]:
                # Ravel's own object; the reference of the holder suffices for the call.
                value.form, value.type, value.bits = ARRAY, type, holder.object
                return
        object = library.ravel_array_borrow(address, type, len(shape), _extents(shape), None, None)
        if not object:
            raise failure(2)
        value.form, value.type, value.bits = ARRAY, type, object
        self.lent.append((object, array))

    def done(self):
        """Gives up the objects; what somebody still uses keeps its owner."""
        for object, owner in self.lent:
            if owner is not None and array_shared(object):
                with _pin_lock:
                    _pinned.append((object, owner))
            else:
                array_release(object)
        self.lent = []
        if _pinned:
            _sweep()


def result(value):
    """A result as Python has it."""
    form, type, bits = value.form, value.type, value.bits
    if form == ARRAY:
        return np.asarray(Holder(bits, type))
    if form == TEXT:
        length = library.ravel_array_size(bits)
        from ctypes import string_at

        text = string_at(array_data(bits), length).decode("utf-8", "replace")
        array_release(bits)
        return text
    if type >= 10:
        return _WORDS[type].unpack(_WORD.pack(bits))[0]
    if type == 0:
        return bits != 0
    if type == 1:
        return bytes([bits & 0xFF])
    size = 8 * DTYPES[type].itemsize
    bits &= (1 << size) - 1
    is_negative = type <= 5 and bits >> (size - 1)
    return bits - (1 << size) if is_negative else bits
