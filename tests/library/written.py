"""Checks with NumPy and Pillow the files that written.sac left in the folder that is named on the command line."""

import sys
import xml.dom.minidom
from pathlib import Path

import numpy as np
from PIL import Image

from cases import noise, whole

folder = Path(sys.argv[1])
arrays = np.load(folder / "arrays.npz")
expected = {
    "reals": noise(1, [3, 4, 5]),
    "floats": noise(2, [17], "float").astype("f4"),
    "counts": whole(3, [2, 2], 100).astype("i4"),
    "truths": whole(4, [15], 2) == 1,
    "letters": np.array([b"a", b"b"]),
    "scalar": np.array(2.5, "f4"),
    "empty": np.zeros((0, 3), "i8"),
}
assert sorted(arrays.files) == sorted(expected)
for name, array in expected.items():
    assert arrays[name].dtype == array.dtype and arrays[name].shape == array.shape, name
    assert np.array_equal(arrays[name], array), name
record = np.load(folder / "record.npz")
assert sorted(record.files) == ["net.first.b", "net.first.w", "net.size"]
assert np.array_equal(record["net.first.w"], noise(10, [3, 2], "float").astype("f4"))
assert np.array_equal(record["net.first.b"], noise(11, [5], "float").astype("f4"))
assert record["net.size"].dtype == np.int32 and list(record["net.size"]) == [3, 2]
for name, mode, channels in [("gray", "L", []), ("gray-alpha", "LA", [2]), ("color", "RGB", [3]), ("color-alpha", "RGBA", [4])]:
    picture = Image.open(folder / f"{name}.png")
    assert picture.mode == mode, name
    assert np.array_equal(np.asarray(picture), whole(5, [7, 9] + channels, 256)), name
for name, shape, ms in [("frames", [4, 7, 9, 3], 40), ("frames-alpha", [2, 7, 9, 4], 65535), ("one-frame", [1, 7, 9, 3], 0)]:
    picture = Image.open(folder / f"{name}.png")
    assert picture.n_frames == shape[0] and picture.info["loop"] == 0, name
    for k, frame in enumerate(whole(12, shape, 256)):
        picture.seek(k)
        assert picture.info["duration"] == ms, name
        assert np.array_equal(np.asarray(picture), frame), (name, k)
assert np.array_equal(np.loadtxt(folder / "table.csv", delimiter=",", skiprows=1), noise(6, [16, 3]))
assert np.array_equal(np.loadtxt(folder / "column.csv"), whole(7, [5], 1000))
plot = Image.open(folder / "plot.png")
assert plot.size == (600, 400) and len(plot.getcolors(100000)) > 10
texts = [node.firstChild.data for node in xml.dom.minidom.parse(str(folder / "plot.svg")).getElementsByTagName("text")]
assert "Noise" in texts and "a & b" in texts
print("all right")
