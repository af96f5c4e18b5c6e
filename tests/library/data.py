"""References for data.sac: files that NumPy, Pillow and this script write are read by Ravel, and what Ravel writes is compared
byte by byte with what NumPy writes. The files go to `files/`. Needs Pillow, too."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

from cases import Table, noise, whole

FILES = Path(__file__).with_name("files")
FILES.mkdir(exist_ok=True)
table = Table()


def save(name, array, version=None):
    with open(FILES / name, "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def pictured(name, array):
    """A picture as Ravel gives it: with a last axis."""
    table.exact(name, array if array.ndim == 3 else array[:, :, None], "ubyte")


# npy: types, orders of bytes and axes, versions
reals = noise(1, [2, 3])
save("f8.npy", reals)
save("f8-big.npy", reals.astype(">f8"))
save("f4-fortran.npy", np.asfortranarray(noise(2, [2, 3, 4], "float").astype("<f4")))
save("i2-big-fortran.npy", np.asfortranarray(whole(3, [3, 5], 1000).astype(">i2")))
save("i8.npy", whole(4, [17], 200) - 100)
save("u8.npy", np.array([0, 2**64 - 1], "<u8"))
save("u1.npy", whole(5, [2, 2, 2, 2], 256).astype("u1"))
save("bool.npy", whole(6, [15], 2) == 1)
save("chars.npy", np.frombuffer(b"Ravel", "S1"))
save("f2.npy", np.array([1.5, -0.0, 65504, 2.0**-24, np.inf, np.nan], "<f2"))
save("scalar.npy", np.float32(2.5))
save("empty.npy", np.zeros((0, 3), "<i4"))
save("version-2.npy", np.arange(4, dtype="<i4"), (2, 0))
save("version-3.npy", np.arange(4, dtype="<u2"), (3, 0))
table.exact("double", reals, "double")
table.exact("big-endian", reals, "double")
table.exact("narrowed", reals.astype(np.float32), "float")
table.exact("fortran", noise(2, [2, 3, 4], "float"), "float")
table.exact("fortran as double", noise(2, [2, 3, 4], "float"), "double")
table.exact("big-endian fortran", whole(3, [3, 5], 1000), "short")
table.exact("widened", whole(3, [3, 5], 1000), "long")
table.exact("int to double", whole(3, [3, 5], 1000), "double")
table.exact("long", whole(4, [17], 200) - 100, "long")
table.exact("long as byte", whole(4, [17], 200) - 100, "byte")
table.exact("ulong", np.array([0, 2**64 - 1], "u8"), "ulong")
table.exact("ubyte", whole(5, [2, 2, 2, 2], 256), "ubyte")
table.exact("ubyte as uint", whole(5, [2, 2, 2, 2], 256), "uint")
table.exact("bool", whole(6, [15], 2), "bool")
table.exact("bool as int", whole(6, [15], 2), "int")
table.exact("char", np.frombuffer(b"Ravel", "u1"), "char")
table.exact("half", np.array([1.5, -0.0, 65504, 2.0**-24, np.inf, np.nan]), "double")
table.exact("scalar", 2.5, "float")
table.exact("empty", np.zeros((0, 3)), "int")
table.exact("version 2", np.arange(4), "int")
table.exact("version 3", np.arange(4), "ushort")

# npz: plain and packed
np.savez(FILES / "some.npz", x=reals, counts=whole(4, [17], 200))
np.savez_compressed(FILES / "packed.npz", zeros=np.zeros((100, 20)), x=reals)
table.exact("npz", reals, "double")
table.exact("npz as int", whole(4, [17], 200), "int")
table.exact("npz packed", reals, "float")
table.exact("npz zeros", 0.0, "double")


def bytes_of(array, order="C"):
    file = io.BytesIO()
    np.save(file, array)
    return np.frombuffer(file.getvalue(), "u1")


# What Ravel writes is what NumPy writes.
for name, array in [
    ("double", reals),
    ("float", reals.astype("f4")),
    ("int", whole(4, [17], 200).astype("i4")),
    ("long", np.int64(-5)),
    ("ubyte", whole(5, [2, 2, 2, 2], 256).astype("u1")),
    ("bool", whole(6, [15], 2) == 1),
    ("char", np.frombuffer(b"Ravel", "S1")),
    ("empty", np.zeros((0, 3), "i4")),
]:
    table.exact("written " + name, bytes_of(array), "int")

# Tables
(FILES / "table.csv").write_bytes(b'"time, s",x,"a ""b"""\r\n0,1.5,-3e4\r\n\r\n"1", 2.5 ,.5\r\n2,nan,+inf')
(FILES / "holes.csv").write_bytes(b"# made by hand\na;b\n1;\n;4\n")
np.savetxt(FILES / "blanks.txt", noise(7, [17, 3]))
np.savetxt(FILES / "column.csv", noise(8, [5]), delimiter=",", header="x")
table.exact("csv", np.array([[0, 1.5, -3e4], [1, 2.5, 0.5], [2, np.nan, np.inf]]), "double")
table.exact("csv holes", np.array([[1, 0], [0, 4]]), "double")
table.exact("csv holes filled", np.array([[1, -9], [-9, 4]]), "double")
table.exact("csv blanks", np.loadtxt(FILES / "blanks.txt"), "double")
table.exact("csv column", np.loadtxt(FILES / "column.csv", ndmin=2), "double")
for k, name in enumerate(["time, s", "x", 'a "b"']):
    table.exact(f"csv header {k}", np.frombuffer(name.encode(), "u1"), "char")
table.exact("csv header -1", np.frombuffer(b"b", "u1"), "char")
table.exact("csv written", noise(9, [16, 2]), "double")
table.exact("csv written float", noise(9, [3, 2], "float"), "float")


# Pictures
PASSES = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(name, samples, depth, color, extra=b"", interlaced=False):
    """A PNG file of any depth, from samples by height, width and channel."""
    height, width = samples.shape[:2]
    samples = samples.reshape(height, width, -1)

    def rows(part):
        if part.shape[0] == 0 or part.shape[1] == 0:
            return b""
        if depth == 16:
            data = part.astype(">u2").reshape(part.shape[0], -1).view("u1")
        else:
            bits = (part.reshape(part.shape[0], -1)[:, :, None] >> np.arange(depth - 1, -1, -1)) & 1
            data = np.packbits(bits.reshape(part.shape[0], -1).astype("u1"), axis=1)
        return b"".join(b"\0" + row.tobytes() for row in data)

    raw = b"".join(rows(samples[y::dy, x::dx]) for y, x, dy, dx in PASSES) if interlaced else rows(samples)
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, int(interlaced))
    data = chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
    (FILES / name).write_bytes(b"\x89PNG\r\n\x1a\n" + data)


SIZE = [7, 9]
for depth in (1, 2, 4, 8, 16):
    gray = whole(10 + depth, SIZE, min(2**depth, 9973))
    shown = gray >> 8 if depth == 16 else gray * (255 // (2**depth - 1))
    png(f"gray-{depth}.png", gray, depth, 0)
    png(f"gray-{depth}-interlaced.png", gray, depth, 0, interlaced=True)
    pictured(f"gray {depth}", shown)
    pictured(f"gray {depth} interlaced", shown)
for channels, color, kind in [(2, 4, "gray-alpha"), (3, 2, "color"), (4, 6, "color-alpha")]:
    for depth in (8, 16):
        samples = whole(20 + color + depth, SIZE + [channels], min(2**depth, 9973))
        png(f"{kind}-{depth}.png", samples, depth, color, interlaced=depth == 16)
        pictured(f"{kind} {depth}", samples >> (depth - 8))
palette = whole(30, [4, 3], 256).astype("u1")
index = whole(31, SIZE, 4)
png("palette-2.png", index, 2, 3, chunk(b"PLTE", palette.tobytes()))
pictured("palette", palette[index])
opacity = np.array([0, 100, 255, 255], "u1")
png("palette-alpha.png", index, 8, 3, chunk(b"PLTE", palette.tobytes()) + chunk(b"tRNS", opacity[:2].tobytes()))
pictured("palette with opacity", np.concatenate([palette[index], opacity[index][:, :, None]], axis=2))
rgb = whole(32, SIZE + [3], 256).astype("u1")
Image.fromarray(rgb).save(FILES / "pillow.png")
Image.fromarray(rgb).save(FILES / "pillow.ppm")
Image.fromarray(rgb[:, :, 0]).save(FILES / "pillow.pgm")
pictured("pillow png", rgb)
pictured("pillow ppm", rgb)
pictured("pillow pgm", rgb[:, :, 0])
(FILES / "plain.pgm").write_bytes(b"P2\n# plain\n3 2\n15\n0 1 2\n13 14 15\n")
pictured("plain pgm", np.array([[0, 17, 34], [221, 238, 255]]))
(FILES / "deep.pgm").write_bytes(b"P5 2 1 65535\n\x00\x00\xff\xff")
pictured("deep pgm", np.array([[0, 255]]))
for name in FILES.glob("*.png"):  # Pillow reads all of them.
    Image.open(name).load()
for channels in (1, 2, 3, 4):
    pictured(f"written {channels}", whole(40, SIZE + [channels], 256))
pictured("written colors", np.array([[[255, 0, 0], [0, 255, 0]]]))
pictured("first of three frames", whole(41, [3] + SIZE + [3], 256)[0])
pictured("only frame", whole(42, [1, 1, 1, 4], 256)[0])

# Colors: a few of each table
VIRIDIS = [[68, 1, 84], [58, 82, 139], [32, 144, 140], [94, 201, 97], [253, 231, 36], [255, 255, 255], [68, 1, 84], [253, 231, 36]]
table.exact("viridis", np.array(VIRIDIS), "ubyte")
table.exact("gray", np.array([0, 0, 128, 128, 255, 255])[:, None].repeat(3, axis=1), "ubyte")
table.write()
