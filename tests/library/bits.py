"""References of bits.sac: Python's integers, and numpy's views of reals."""

import numpy as np

from cases import Table, noise

table = Table()
WIDTH = {"byte": 8, "short": 16, "int": 32, "long": 64, "longlong": 64}
WIDTH.update({"u" + kind: width for kind, width in WIDTH.items()})


def plain(x, kind):
    """Bits as a number from 0, and back to the type."""
    return x & ((1 << WIDTH[kind]) - 1)


def typed(x, kind):
    x = plain(x, kind)
    return x if kind[0] == "u" or x < 1 << (WIDTH[kind] - 1) else x - (1 << WIDTH[kind])


def counted(a, shape, kind):
    w = WIDTH[kind]
    bits = [plain(x, kind) for x in a]

    def add(name, values):
        whole = np.empty(len(values), object)
        whole[:] = [typed(x, kind) for x in values]
        table.exact(name, whole.reshape(shape), kind)

    add("popcount", [bin(x).count("1") for x in bits])
    add("clz", [w - x.bit_length() for x in bits])
    add("ctz", [w if x == 0 else (x & -x).bit_length() - 1 for x in bits])
    add("bit_reverse", [int(format(x, f"0{w}b")[::-1], 2) for x in bits])


def powers(n, kind):
    p = [1]
    for k in range(1, n):
        p.append(~p[-1] if k % 2 == 1 else ~p[-1] * 3)
    return p[:n]


def integers(kind):
    w = WIDTH[kind]
    low, high = (0, 2**w - 1) if kind[0] == "u" else (-(2 ** (w - 1)), 2 ** (w - 1) - 1)
    counted([0, 1, -1, high if kind[0] == "u" else 0, high, low], (6,), kind)
    for shape in ((130,), (3, 17), (2, 1, 2), (0,)):
        counted(powers(int(np.prod(shape)), kind), shape, kind)
    counted([12], (), kind)


def patterns(x, kind):
    x = np.asarray(x, {"float": np.float32, "double": np.float64}[kind])
    word = {"float": np.uint32, "double": np.uint64}[kind]
    bits = np.where(np.isnan(x), np.array(np.nan, x.dtype).view(word), x.view(word))
    table.exact("float_bits", bits, "uint" if kind == "float" else "ulong")
    table.exact("bits_float", x.astype(float), kind)


for kind in ("byte", "short", "int", "long", "longlong", "ubyte", "ushort", "uint", "ulong", "ulonglong"):
    integers(kind)
for kind, least, small in (("float", 2.0**-149, 2.0**-126), ("double", 2.0**-1074, 2.0**-1022)):
    limits = np.finfo({"float": np.float32, "double": np.float64}[kind])
    patterns([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, limits.max, limits.min, small, least, -least, small / 2], kind)
patterns(noise(1, (3, 5), "float"), "float")
patterns(noise(1, (17,)), "double")
patterns(noise(2, (33,), "float"), "float")
patterns(noise(2, (2, 2, 2)), "double")
patterns(np.zeros(0), "float")
patterns(3, "float")
patterns(-0.1, "double")
for n, factor, more, word, real, kind, name in (
    (256, 16777213, 5, np.uint32, np.float32, "float", "uint"),
    (1024, 18014398509481981, 7, np.uint64, np.float64, "double", "ulong"),
):
    bits = np.arange(n, dtype=word) * word(factor) + word(more)
    x = bits.view(real)
    table.exact("all exponents", np.where(np.isnan(x), np.array(np.nan, real).view(word), bits), name)
    table.exact("all exponents", x.astype(float), kind)
for word, real, kind, at, top in ((np.uint32, np.float32, "float", 23, 255), (np.uint64, np.float64, "double", 52, 2047)):
    bits = np.array([1 << at, (top - 1) << at, top << at, 0, (top + 1) << at, (2 * top + 1) << at], word)
    table.exact("zeros behind", bits.view(real).astype(float), kind)
table.write()
