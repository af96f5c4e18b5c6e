"""NumPy arrays over objects of Ravel, and the other way round.

An argument that is C-contiguous is lent: Ravel gets a header of its own before the same elements. A result is a NumPy array over Ravel's object,
which goes with it.
"""

import operator
import struct
import threading
from ctypes import addressof, c_char, c_int64, string_at

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
# Extents are `int` in SaC.
_EXTENTS = 2**31
# What holds nothing but elements in the order of its shape.
_PLAIN = {np.ndarray, np.matrix, np.memmap, np.recarray}


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
    shape = (shape,) if hasattr(shape, "__index__") else shape
    try:
        shape = tuple(map(operator.index, shape))
    except TypeError:
        raise TypeError(f"a shape is a whole number or several, not {shape!r}") from None
    for extent in shape:
        if not 0 <= extent < _EXTENTS:
            raise ValueError(f"an extent is at least 0 and below {_EXTENTS}, not {extent}")
    object = library.ravel_array_new(type, len(shape), _extents(shape))
    if not object:
        error = failure(2)
        raise MemoryError(str(error)) if "memory" in str(error) else error
    return np.asarray(Holder(object, type))


def _type_of(dtype, what):
    type = TYPES.get(dtype)
    if type is None:
        raise TypeError(f"{what} has elements of type {dtype}, which SaC does not have: {_instead_of(dtype)}")
    return type


def _instead_of(dtype):
    """What becomes of elements that SaC does not have."""
    if dtype.names is not None:
        return f"pass the fields as arrays of their own, such as a[{dtype.names[0]!r}]" if dtype.names else "it has no fields"
    if not dtype.isnative:
        return f"its bytes are in the order of other machines, .astype({dtype.newbyteorder('=').str!r}) turns them"
    if dtype.kind == "c":
        exact = "" if dtype == np.complex128 else ".astype('c16')"
        return f"complex numbers are double[.., 2] there, a{exact}.view('f8').reshape(a.shape + (2,))"
    if dtype.kind in "mM":
        return ".astype('i8') makes long integers of times"
    if dtype.kind == "O":
        return ".astype('f8') makes numbers of objects, if they are some"
    if dtype.kind in "US":
        return "a str is passed as it is, .astype('f8') makes numbers of texts"
    if dtype == np.float16:
        return ".astype('f4') makes a float array"
    if dtype.kind == "f":
        return ".astype('f8') makes a double array, with fewer digits"
    return "the types are " + ", ".join(f"{d.name} ({n})" for d, n in zip(DTYPES, NAMES) if n != "char")


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


def _called(at, count):
    return f"argument {at + 1}"


def _any_type(at, count):
    return None


class Arguments:
    """The arguments of one call as C values; `done` gives back what they hold. `called` names an argument in messages, by its place and the
    number of all; `wanted` gives the type that it should have."""

    __slots__ = ("values", "lent", "_called", "_wanted")

    def __init__(self, arguments, copy, called=_called, wanted=_any_type):
        self.values = (Value * len(arguments))()
        self.lent = []
        self._called, self._wanted = called, wanted
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
                raise OverflowError(f"{self._label(at)} is {argument}, which no integer type of SaC has")
            value.form, value.bits = WHOLE, argument & 0xFFFF_FFFF_FFFF_FFFF
        elif isinstance(argument, str):
            text = argument.encode()
            object = library.ravel_string_new(text, len(text))
            if not object:
                raise failure(2)
            value.form, value.bits = TEXT, object
            self.lent.append((object, None))
        elif isinstance(argument, np.generic):
            value.form, value.type = SCALAR, _type_of(argument.dtype, self._label(at))
            value.bits = int.from_bytes(argument.tobytes().ljust(8, b"\0"), "little")
        elif isinstance(argument, float):
            self._put(value, at, float(argument), copy)
        elif isinstance(argument, np.ndarray):
            self._put_array(value, at, self._plain(at, argument), copy)
        elif hasattr(argument, "__dlpack__"):
            self._put_array(value, at, self._taken_over(at, argument), copy)
        elif hasattr(argument, "__index__"):
            self._put(value, at, int(operator.index(argument)), copy)
        else:
            raise TypeError(
                f"{self._label(at)} is a {kind.__name__}: SaC takes NumPy arrays, numbers, bools and strings{self._instead(at, argument)}"
            )

    def _label(self, at):
        return self._called(at, len(self.values))

    def _plain(self, at, array):
        """The elements of an array of a class of its own; what such a class says beside them is not to be lost."""
        if isinstance(array, np.ma.MaskedArray):
            raise TypeError(
                f"{self._label(at)} is a masked array, and SaC has no masks: .filled(value) gives masked elements a value,"
                " .compressed() leaves them out"
            )
        if type(array) not in _PLAIN:
            raise TypeError(f"{self._label(at)} is a {type(array).__name__}: np.asarray(..) has its elements alone")
        return np.asarray(array)

    def _taken_over(self, at, argument):
        try:
            return np.from_dlpack(argument)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise TypeError(f"{self._label(at)} is a {type(argument).__name__} that NumPy cannot take over: {error}") from error

    def _instead(self, at, argument):
        """What might have been meant."""
        wanted = self._wanted(at, len(self.values))
        dtype = f", np.{wanted.name}" if wanted is not None else ""
        if isinstance(argument, complex):
            return "; complex numbers are two doubles there: np.array([z.real, z.imag])"
        if isinstance(argument, (bytes, bytearray)):
            return "; .decode() makes a string of it, np.frombuffer(.., 'u1') an array"
        if hasattr(argument, "to_numpy"):
            return "; .to_numpy() has its elements"
        if isinstance(argument, (list, tuple)):
            return f"; np.array(..{dtype}) makes an array of a {type(argument).__name__}"
        if isinstance(argument, (range, memoryview)) or hasattr(argument, "__array__") or hasattr(argument, "typecode"):
            return f"; np.asarray(..{dtype}) makes an array of it"
        if isinstance(argument, (set, frozenset)) or hasattr(argument, "__next__"):
            return f"; np.array(list(..){dtype}) makes an array of it"
        return "; float(..) makes a number of it" if hasattr(argument, "__float__") else ""

    def _put_array(self, value, at, array, copy):
        type = TYPES.get(array.dtype)
        if type is None:
            type = _type_of(array.dtype, self._label(at))
        shape = array.shape
        if not shape:
            value.form, value.type = SCALAR, type
            value.bits = int.from_bytes(array.tobytes().ljust(8, b"\0"), "little")
            return
        if not 0 < array.size < _EXTENTS and max(shape) >= _EXTENTS:
            raise ValueError(f"{self._label(at)} has an axis of {max(shape)}: SaC counts by int, up to {_EXTENTS - 1}; pass parts of it, or reshape it")
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
