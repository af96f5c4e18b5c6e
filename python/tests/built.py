"""What users of a module rely on that `ravel build --python` has made of `SOURCE`; run by tests/python.rs."""

import copy
import inspect
import multiprocessing
import pickle
import threading

import numpy as np

SOURCE = """module m; use Array: all; use String: all; export all;
float[d:r] conv(float[d:s] a, float[d:t] w) { return { iv -> sum({ ov -> w[ov] * a[iv + ov] }) | iv < s - t + 1 }; }
specialize float[.] conv(float[.] a, float[.] w);
specialize float[.,.] conv(float[.,.] a, float[.,.] w);
double total(double[*] a) { return sum(a); }
specialize double total(double[*] a);
double at(double[.] a, int i) { return a[i]; }
int, double two(int a) { return (a + 1, tod(a)); }
double half(double a) { return a / 2d; }
int twice(int a) { return a + a; }
double twice(double a) { return a + a; }
double[2] swap(double[2] p) { return [p[1], p[0]]; }
string greet(string who) { return "hello " + who; }
bool flip(bool a) { return !a; }
int lambda(int a) { return a; }
int all(int[.] a) { return sum(a); }
int zip(int in, int self) { return in - self; }
int second(int _, int b) { return b; }
char code(char c) { return c; }
"""


def raises(kind, words, work):
    try:
        work()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}")


def check():
    import m

    image = np.random.default_rng(1).random((28, 28), dtype="f4")
    kernel = np.full((5, 5), 0.04, "f4")
    windows = np.lib.stride_tricks.sliding_window_view(image, (5, 5))
    result = m.conv(image, kernel)
    assert result.dtype == np.float32 and np.allclose(result, (windows * kernel).sum((2, 3)), atol=1e-5)
    result[0, 0] = 1
    assert m.conv(image[3], kernel[0]).shape == (24,)
    assert np.allclose(m.conv(image.T, kernel), m.conv(image.T.copy(), kernel))
    assert np.array_equal(m.conv(image[::-1, ::2], kernel), m.conv(image[::-1, ::2].copy(), kernel))
    assert "float[.,.] conv(float[.,.] a, float[.,.] w)" in m.conv.__doc__
    assert m.total(np.ones((3, 4, 5))) == 60.0 and m.total(np.ones(0)) == 0.0
    assert m.total(np.ones(10_000_000)) == 1e7
    assert m.two(4) == (5, 4.0) and m.half(3) == 1.5 and m.half(np.float64(3)) == 1.5
    assert (m.twice(2), m.twice(2.5)) == (4, 5.0) and isinstance(m.twice(2), int)
    assert m.greet("wörld") == "hello wörld" and m.flip(True) is False
    assert list(m.swap(np.array([1.0, 2.0]))) == [2.0, 1.0]
    assert getattr(m, "lambda")(3) == 3
    for _ in range(3):
        raises(m.Fault, "index 5 is out of range", lambda: m.at(np.arange(3.0), 5))
    assert m.at(np.arange(3.0), 2) == 2.0
    raises(ValueError, "axis 0 has 3 indices, not 2", lambda: m.swap(np.ones(3)))
    for wrong in [(), (1, 2), ([1.0],), (np.ones(3, "f4"),), (np.ones((2, 2)),), (None,), (np.ones(2, ">f8"),)]:
        raises(TypeError, "double[2] swap(double[2] p)", lambda: m.swap(*wrong))
    raises(TypeError, "int twice(int a)", lambda: m.twice("a"))
    raises(TypeError, "twice", lambda: m.twice(True))
    raises(TypeError, "greet", lambda: m.greet("a\0b"))
    # Larger than an int, but a double.
    assert m.twice(1 << 40) == 2.0 * (1 << 40)
    results = {}
    threads = [threading.Thread(target=lambda n=n: results.update({n: m.total(np.ones(n))})) for n in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results == {n: float(n) for n in range(8)}
    # Functions may be called what Python's own are.
    assert m.all(np.arange(3, dtype="i4")) == 3 and m.code(np.array(b"\0", "S1")) == b"\0"
    check_names(m)
    check_types(m)
    assert pickle.loads(pickle.dumps(m.at)) is m.at and copy.deepcopy(m.at) is m.at
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.starmap_async(m.at, [(np.arange(3.0), 2)]).get(60) == [2.0]
    # A copy of the process has threads of its own.
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map_async(m.total, [np.ones(10_000_000), np.ones(2)]).get(60) == [1e7, 2.0]
    print("all is well")


def check_names(m):
    assert str(inspect.signature(m.at)) == "(a, i)" and str(inspect.signature(m.zip)) == "(in_, self)"
    assert m.at(i=2, a=np.arange(3.0)) == 2.0 and m.zip(5, self=3) == 2 and m.second(argument1=1, b=2) == 2
    for wrong in [{"i": 1}, {"a": np.arange(3.0), "j": 1}]:
        raises(TypeError, "double at(double[.] a, int i)", lambda: m.at(**wrong))
    raises(TypeError, "double at(", lambda: m.at(np.arange(3.0), 1, i=2))


def check_types(m):
    a = np.arange(4.0)

    class Own(np.ndarray):
        pass

    raises(TypeError, ".filled(value)", lambda: m.total(np.ma.array(a, mask=a > 2)))
    raises(TypeError, "is a Own: np.asarray(..)", lambda: m.total(a.view(Own)))
    raises(TypeError, "a.astype(np.float64)", lambda: m.total(np.arange(3)))
    raises(TypeError, "a.astype(np.float64)", lambda: m.total(a.astype(">f8")))
    raises(TypeError, "a['x']", lambda: m.total(np.zeros(3, [("x", "f8")])))
    raises(TypeError, "double[.., 2]", lambda: m.total(a.astype("c16")))
    raises(TypeError, "np.array(a, np.float64)", lambda: m.total([1.0]))
    raises(TypeError, "int(a)", lambda: m.two(float("nan")))
    raises(TypeError, "does not have 1099511627776", lambda: m.two(1 << 40))
    raises(TypeError, "np.int32(a.item())", lambda: m.two(np.int64(3)))
    raises(TypeError, "has 1 axis in SaC, not 2", lambda: m.at(np.ones((2, 2)), 1))
    raises(ValueError, "an axis of 2147483648", lambda: m.total(np.lib.stride_tricks.as_strided(a, (2**31,), (0,))))
    assert m.total(np.matrix([[1.0, 2.0]])) == 3.0 and m.total(np.broadcast_to(2.0, (3, 3))) == 18.0


if __name__ == "__main__":
    check()
