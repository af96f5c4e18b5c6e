"""What users of `ravel.module` rely on."""

import copy
import inspect
import multiprocessing
import os
import pickle
import pydoc
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import ravel


def address(array):
    return array.__array_interface__["data"][0]


def test_results_are_those_of_numpy(m):
    image = np.random.default_rng(1).random((28, 28), dtype="f4")
    kernel = np.full((5, 5), 0.04, "f4")
    windows = np.lib.stride_tricks.sliding_window_view(image, (5, 5))
    result = m.conv(image, kernel)
    assert result.shape == (24, 24) and result.dtype == np.float32
    assert np.allclose(result, (windows * kernel).sum((2, 3)), atol=1e-5)
    assert m.conv.instances == ["conv(float[28,28], float[5,5]) -> float[24,24]"]
    assert np.array_equal(m.conv(image[3], kernel[0]), m.conv(image[3].copy(), kernel[0].copy()))
    assert np.array_equal(m.negated(np.arange(6, dtype="i4").reshape(2, 3)), -np.arange(6).reshape(2, 3))


def test_numbers_texts_and_several_results(m):
    assert m.scale(2.5, 3) == 7.5 and m.scale(2, 3) == 6.0
    assert m.halved(3) == 1.5 and m.halved(0.5) == 0.25
    assert m.two(4) == (5, 4.0)
    assert m.greet("wörld") == "hello wörld"
    assert m.flip(True) is False
    assert m.small(200) == 200
    assert m.nothing(1) is None
    assert m.halved(np.float32(1)) == 0.5 and m.scale(np.float64(2), np.int32(2)) == 4.0
    assert m.scale(np.array(2.0), 1) == 2.0
    with pytest.raises(TypeError, match="is 300, which is no ubyte"):
        m.small(300)
    with pytest.raises(OverflowError):
        m.scale(1.0, 1 << 70)


def test_types_never_convert(m):
    for kind in (ravel.CompileError, TypeError):
        with pytest.raises(kind) as caught:
            m.twice(np.arange(3))
    report = caught.value.diagnostics[0]
    assert report["code"] == "E0310" and "toi" not in str(report) and not report["fixes"]
    with pytest.raises(ravel.CompileError):
        m.halved(np.float64(1))
    with pytest.raises(TypeError, match="float16"):
        m.twice(np.zeros(3, "f2"))
    with pytest.raises(TypeError, match="complex"):
        m.twice(np.zeros(3, "c16"))
    with pytest.raises(TypeError, match="other machines"):
        m.twice(np.zeros(3, ">f8"))
    with pytest.raises(TypeError, match="np.array"):
        m.twice([1.0, 2.0])
    with pytest.raises(TypeError, match="dict"):
        m.twice({})
    assert list(m.longs(np.array([1, 2]))) == [1, 2]


def test_the_source_is_reported():
    with pytest.raises(ravel.CompileError) as caught:
        ravel.module("int f(int a) { return b; }")
    report = caught.value.diagnostics[0]
    assert report["code"] == "E0212" and report["place"]["start"]["line"] == 1 and "unknown variable" in str(caught.value)
    with pytest.raises(ravel.CompileError):
        ravel.module("this is not SaC")
    with pytest.raises(AttributeError, match="has no function `g`; it has `f`"):
        ravel.module("int f(int a) { return a; }").g(1)
    with pytest.raises(ravel.CompileError):
        ravel.module("nowhere.sac")
    with pytest.raises(TypeError):
        ravel.module(3)


def test_files(tmp_path):
    (tmp_path / "shapes.sac").write_text("double area(double a, double b)\n{\n    return a * b;\n}\n")
    with ravel.module(tmp_path / "shapes.sac") as shapes:
        assert shapes.area(2.0, 3.0) == 6.0
        assert "area" in dir(shapes)
    with pytest.raises(ValueError, match="closed"):
        shapes.area(1.0, 1.0)


def test_a_file_that_is_a_module(tmp_path):
    text = "module Shapes;\nuse Array: all;\nexport { area };\ndouble area(double a, double b)\n{\n    return a * b;\n}\n"
    (tmp_path / "Shapes.sac").write_text(text)
    with ravel.module(tmp_path / "Shapes.sac") as shapes:
        assert shapes.area(2.0, 3.0) == 6.0


def test_definitions_are_replaced():
    m = ravel.module("int f(int a) { return a + 1; }")
    assert m.f(1) == 2
    m.define("int f(int a) { return a + 2; }")
    assert m.f(1) == 3


def test_faults_are_exceptions(m):
    for _ in range(3):
        with pytest.raises(ravel.Fault, match="index 5 is out of range") as caught:
            m.at(np.arange(3.0), 5)
        fault = caught.value
        assert (fault.file, fault.line, fault.function, fault.code) == ("<tests>", 12, "at", 1)
    with pytest.raises((ravel.Fault, ravel.CompileError)):
        m.mean(np.zeros(0))
    assert m.at(np.arange(3.0), 2) == 2.0


def test_arrays_of_ravel_are_not_copied(m):
    a = ravel.empty((300, 400))
    a[:] = 3.0
    # The result is the argument: one piece of memory, which nobody may write to any more through it.
    b = m.same(a)
    assert address(a) == address(b) and not b.flags.writeable
    c = m.twice(a)
    assert c.flags.writeable and c[299, 399] == 6.0
    assert address(m.same(c)) == address(c)
    del a
    assert b[299, 399] == 3.0
    with pytest.raises(ValueError, match="read-only"):
        b[0, 0] = 1.0


def test_arrays_of_numpy_are_lent(m):
    block = np.zeros(100_000)
    # One in sixty ends too near to the end of a page, or begins too near to its beginning.
    stretches = (block[first : first + 15_000] for first in range(5_000, 5_400, 20))
    inner = next(stretch for stretch in stretches if may_be_lent(stretch))
    inner[:] = 7.0
    lent = m.same(inner)
    assert address(lent) == address(inner)
    # The owner of the elements stays as long as a result uses them.
    del block, inner
    m.scale(1.0, 1)
    assert lent.sum() == 7.0 * 15_000


def may_be_lent(a):
    """Vectors of compiled code may touch 16 bytes before and 64 behind: these have to lie in the pages of the elements."""
    first, behind = address(a), address(a) + a.nbytes
    return (first - 16) // 4096 == first // 4096 and (behind + 63) // 4096 == (behind - 1) // 4096


def test_arrays_at_the_ends_of_pages_are_copied(m):
    for n in range(100, 110):
        a = np.full((n, 1000), 1.5)
        b = m.same(a)
        assert (address(b) == address(a)) == may_be_lent(a)
        assert np.array_equal(a, b)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("n", [1_000, 100_000, 10_000_000])
def test_arrays_of_numpy_are_read_where_they_are(m, n, dtype):
    # Large ones begin 16 bytes into a page. Where a small one begins and ends is chance.
    tried = []
    while not tried or n == 1_000 and not may_be_lent(tried[-1]):
        tried.append(np.ones(n, dtype))
    a = tried[-1]
    same = m.same if dtype == "f8" else m.same4
    b = same(a)
    assert address(b) == address(a) and b.shape == a.shape
    # Where a slice begins, something lies before it; another order is another array.
    part = same(a[1:])
    assert part.shape == (n - 1,) and address(part) == address(a[1:])
    a[:3] = 7, 8, 9
    turned = same(a[::-1])
    assert address(turned) != address(a) and np.array_equal(turned, a[::-1])


def test_windows_at_the_edges_read_little_before():
    source = """use Array: all;
    double[.] windows(double[64] a) { return { [i] -> sum({ [k] -> a[i - k] | [0] <= [k] < [min(i + 1, K)] }) | [i] < [64] }; }"""
    block = np.arange(4096.0)
    # It begins 16 bytes into a page, and what lies before it has to stay out of the sums.
    start = (-address(block) // 8) % 512 + 2
    a = block[start : start + 64]
    assert address(a) % 4096 == 16
    for n in (2, 3, 4, 9):
        windows = ravel.module(source.replace("K", str(n))).windows
        assert np.allclose(windows(a), [a[max(i + 1 - n, 0) : i + 1].sum() for i in range(64)])


def test_copies_on_request():
    m = ravel.module("use Array: all; double[*] same(double[*] a) { return a; }", copy=True)
    a = np.ones(1000)
    b = m.same(a)
    a[:] = 2.0
    assert b.sum() == 1000.0


def test_any_order_of_axes_is_taken(m):
    a = np.arange(12.0).reshape(3, 4)
    assert np.array_equal(m.twice(a.T), 2 * a.T)
    assert np.array_equal(m.twice(a[::2, ::-1]), 2 * a[::2, ::-1])
    assert np.array_equal(m.twice(np.asfortranarray(a)), 2 * a)
    a.flags.writeable = False
    assert np.array_equal(m.twice(a), 2 * a)
    assert m.twice(np.zeros((0, 3))).shape == (0, 3)


def test_dlpack(m):
    a = m.up(5)
    b = np.from_dlpack(a)
    assert address(a) == address(b)
    del a
    assert list(b) == [0, 1, 2, 3, 4]

    class Other:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    assert list(m.twice(Other(np.arange(3.0)))) == [0, 2, 4]


def test_the_first_shapes_have_instances_of_their_own():
    m = ravel.module("use Array: all; double[.] f(double[.] a) { return a + 1.0; }")
    for n in range(1, 30):
        assert list(m.f(np.zeros(n))) == [1.0] * n
    assert len(m.f.instances) == 9 and "f(double[.]) -> double[.]" in m.f.instances


def test_explain_and_time(m):
    a = np.ones((64, 64), "f4")
    assert "with-loops" in m.conv.explain(a, a[:3, :3].copy())
    timing = m.conv.time(a, a[:3, :3].copy(), runs=5)
    assert len(timing.runs) == 5 and 0 < timing.best <= timing.median
    assert "runs" in repr(timing)


def test_threads_take_turns(m):
    results = {}

    def work(n):
        results[n] = [m.up(n).sum() for _ in range(20)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(2, 8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results == {n: [n * (n - 1) / 2] * 20 for n in range(2, 8)}


def test_objects_have_their_first_value_once():
    m = ravel.module("use Array: all; objdef int start = sum(iota(5)); int next(int by) { return start + by; }")
    assert [m.next(1), m.next(1), m.next(2)] == [11, 11, 12]


@pytest.mark.parametrize("times", [1, 3])
def test_ctrl_c_ends_a_call(m, times):
    for _ in range(times):
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            m.endless(1)
        assert time.perf_counter() - start < 5
        timer.join()
    assert m.scale(2.0, 2) == 4.0


def test_copies_of_the_process_say_so(m):
    code = """
import os, ravel
m = ravel.module("int f(int a) { return a; }")
assert m.f(1) == 1
if os.fork() == 0:
    try:
        m.f(1)
    except TypeError as error:
        os._exit(7 if "fork" in str(error) else 8)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "7", run.stderr


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_a_million_calls_do_not_grow(m):
    a = np.ones(10)
    small = np.ones(3)
    calls = int(os.environ.get("RAVEL_TEST_CALLS", "100000"))

    def work(n):
        for _ in range(n):
            m.twice(a)
            m.same(small)
            m.scale(1.0, 2)

    work(2000)
    before = resident()
    work(calls // 3)
    assert resident() - before < 8 << 20


def test_calls_start_no_threads_and_compile_nothing(m):
    m.scale(1.0, 2)
    before = len(os.listdir("/proc/self/task")), len(m.scale.instances)
    best = min(m.scale.time(1.0, 2, runs=200).best for _ in range(5))
    print(f"{best * 1e6:.1f} us per call")
    assert (len(os.listdir("/proc/self/task")), len(m.scale.instances)) == before


# What is wrong with arguments, each with words of the message that mend it.
WRONG = [
    (lambda m: m.twice(np.ma.array([1.0, 2.0], mask=[0, 1])), r"argument 1 \(`a`\) of `twice` is a masked array.*\.filled\(value\)"),
    (lambda m: m.twice(np.ma.array([1.0, 2.0])), r"\.filled\(value\)"),
    (lambda m: m.scale(np.ma.masked, 1), r"\.filled\(value\)"),
    (lambda m: m.twice(np.zeros(2).view(Own)), r"is a Own: np\.asarray\(\.\.\)"),
    (lambda m: m.twice(np.zeros(3, [("x", "f8")])), r"a\['x'\]"),
    (lambda m: m.twice(np.zeros(3, [("x", "f8")]).view(np.recarray)), r"a\['x'\]"),
    (lambda m: m.twice(np.array(["2020-01-01"], "M8[D]")), r"\.astype\('i8'\)"),
    (lambda m: m.twice(np.array([1.0, None])), r"\.astype\('f8'\)"),
    (lambda m: m.twice(np.zeros(3, np.longdouble)), r"\.astype\('f8'\)"),
    (lambda m: m.twice(np.zeros(3, ">f8")), r"\.astype\('<f8'\)"),
    (lambda m: m.twice(np.array(["1"])), r"\.astype\('f8'\)"),
    (lambda m: m.twice([1.0, 2.0]), r"np\.array\(\.\., np\.float64\)"),
    (lambda m: m.twice([[1.0], [2.0, 3.0]]), r"is a list"),
    (lambda m: m.twice(range(3)), r"np\.asarray\(\.\., np\.float64\)"),
    (lambda m: m.twice(None), "is a NoneType"),
    (lambda m: m.greet(b"a"), r"\.decode\(\)"),
    (lambda m: m.scale(1j, 1), "complex numbers are two doubles"),
    (lambda m: m.scale("2.5", 1), r"argument 1 \(`x`\) of `scale` is double in SaC, not a str: float\(x\)"),
    (lambda m: m.scale(1.0, 2.0), r"argument 2 \(`n`\) of `scale` is int in SaC, not a float: int\(n\)"),
    (lambda m: m.scale(1.0, float("nan")), r"int\(n\)"),
    (lambda m: m.scale(1.0, True), r"not a bool: int\(n\)"),
    (lambda m: m.scale(1.0, 1 << 40), "goes from -2147483648 to 2147483647"),
    (lambda m: m.scale(1.0, np.int64(1)), r"np\.int32\(n\)"),
    (lambda m: m.greet(3), r"str\(who\)"),
    (lambda m: m.flip(1), r"bool\(a\)"),
    (lambda m: m.twice(np.arange(3)), r"a\.astype\(np\.float64\)"),
    (lambda m: m.negated(np.arange(3)), r"a\.astype\(np\.int32\)"),
    (lambda m: m.twice(np.array([True])), r"a\.astype\(np\.float64\)"),
    (lambda m: m.mean(np.zeros((2, 2))), r"has 1 axis in SaC, not 2: a\.ravel\(\)"),
    (lambda m: m.at(1.0, 1), r"has 1 axis in SaC, not 0: np\.array\(\[a\]\)"),
    (lambda m: m.scale(1.0), "takes 2 arguments, not 1: `n` is missing"),
    (lambda m: m.scale(1.0, 2, 3), "takes 2 arguments, not 3"),
    (lambda m: m.scale(x=1.0), "has no definition with `x`"),
    (lambda m: m.scale(1.0, x=1.0), "has no definition with 1 argument and `x`"),
    (lambda m: m.scale.explain(1.0, 2.0), r"int\(n\)"),
    (lambda m: m[3], "functions have names"),
    (lambda m: ravel.module("").define(3), "SaC text is a str"),
    (lambda m: ravel.empty("ab"), "a shape is"),
    (lambda m: ravel.empty(2.5), "a shape is"),
]


class Own(np.ndarray):
    pass


@pytest.mark.parametrize("call, words", WRONG)
def test_wrong_arguments_are_type_errors_that_speak_python(m, call, words):
    with pytest.raises(TypeError, match=words) as caught:
        call(m)
    assert "argument1" not in str(caught.value) and "toi" not in str(caught.value)


def test_what_numpy_has_is_taken(m):
    class Real(float):
        pass

    assert np.array_equal(m.twice(np.matrix([[1.0, 2.0]])), [[2.0, 4.0]])
    assert np.array_equal(m.twice(np.broadcast_to(2.0, (2, 2))), [[4.0, 4.0], [4.0, 4.0]])
    assert m.greet(np.str_("a")) == "hello a" and m.scale(Real(2.0), 2) == 4.0
    assert m.twice(np.ones((1, 2, 1, 2, 1))).shape == (1, 2, 1, 2, 1)
    with pytest.raises(ValueError, match="an axis of 2147483648"):
        m.twice(np.lib.stride_tricks.as_strided(np.ones(1), (2**31,), (0,)))
    with pytest.raises(ValueError, match="extent"):
        ravel.empty((2, -1))
    with pytest.raises(ValueError, match="extent"):
        ravel.empty(1 << 64)
    with pytest.raises(MemoryError):
        ravel.empty((1 << 20, 1 << 20))
    with pytest.raises(ValueError):
        ravel.set_threads(0)


def test_arguments_have_names(m):
    assert str(inspect.signature(m.scale)) == "(x, n)" and m.scale(n=3, x=2.0) == m.scale(2.0, n=3) == 6.0
    assert m.scale.__doc__ == "double scale(double x, int n)"
    assert "double scale(double x, int n)" in pydoc.render_doc(m.scale)
    own = ravel.module("/* Adds. */\nint f(int lambda, int _) { return lambda; }\nint g(int a) { return a; }\ndouble g(double b) { return b; }")
    assert own.f.__doc__ == "int f(int lambda, int _)\n\nAdds." and own.f(3, 4) == 3
    assert own.g(a=1) == 1 and own.g(b=2.0) == 2.0 and len(inspect.signature(own.g).parameters) == 1
    own.define("int f(int x) { return x; }")
    assert own.f(x=5) == 5
    assert str(inspect.signature(m["Array::sum"])).startswith("(")


def test_names_that_are_no_functions(m):
    assert not hasattr(m, "nosuch") and not hasattr(m, "_nosuch") and not hasattr(m, "__array__")
    with pytest.raises(AttributeError, match="did you mean `twice`"):
        m.twic
    for name in ("nosuch", "Array::nosuch", "Nowhere::f", "a b"):
        with pytest.raises(KeyError, match="has no function"):
            m[name]
    assert ravel.module("int _own(int a) { return a; }")._own(1) == 1
    with pytest.raises(TypeError):
        list(m)


def test_copies_are_made_of_the_source(tmp_path):
    path = tmp_path / "counted.sac"
    path.write_text("int f(int a) { return a + 1; }")
    m = ravel.module(path)
    m.define("int g(int a) { return a + 2; }")
    made = pickle.loads(pickle.dumps(m))
    assert made is not m and (made.f(1), made.g(1), made.f(a=2)) == (2, 3, 3)
    g = pickle.loads(pickle.dumps(m.g))
    # One module for all pickles of the same sources, until it gets others.
    assert g(1) == 3 and pickle.loads(pickle.dumps(m)) is made
    made.define("int g(int a) { return a + 3; }")
    assert pickle.loads(pickle.dumps(m)).g(1) == 3 and made.g(1) == 4
    for copied in (copy.copy(m), copy.deepcopy(m)):
        copied.define("int f(int a) { return 0; }")
        assert copied.f(1) == 0 and m.f(1) == 2
    assert copy.deepcopy(m.f) is m.f
    late = pickle.loads(pickle.dumps(m.f, protocol=2))
    path.write_text("int f(int a) { return a; }")
    late = pickle.loads(pickle.dumps(copy.copy(m)))
    with pytest.raises(ravel.Error, match="has changed since"):
        copy.copy(m).f(1)
    path.unlink()
    with pytest.raises(ravel.Error, match="it is gone"):
        copy.copy(m).f(1)
    m.close()
    with pytest.raises(TypeError, match="closed"):
        pickle.dumps(m)


@pytest.mark.parametrize("way", ["spawn", "fork"])
def test_processes_of_a_pool_call_functions(m, way):
    m.mean(np.ones(3))
    with multiprocessing.get_context(way).Pool(1) as pool:
        assert pool.map_async(m.mean, [np.ones(2), np.zeros(2)]).get(120) == [1.0, 0.0]
        with pytest.raises(ravel.Fault, match="out of range") as caught:
            pool.starmap_async(m.at, [(np.zeros(3), 7)]).get(120)
        assert caught.value.line == 12
        with pytest.raises(ravel.ArgumentError, match="astype"):
            pool.map_async(m.mean, [np.arange(3)]).get(120)


HELLO = """module Hello;
use Array: all;
export {twice, greet};

// Doubles.
double[*] twice(double[*] a) { return hidden(a) + a; }
int greet(int n) { return n + 1; }
double[*] hidden(double[*] a) { return a; }
"""


def test_files_of_modules_are_modules(tmp_path):
    path = tmp_path / "Hello.sac"
    path.write_text(HELLO)
    text = ravel.module(HELLO)
    for m in (ravel.module(path), text, pickle.loads(pickle.dumps(text))):
        assert list(m.twice(np.ones(2))) == [2.0, 2.0] and m.greet(n=1) == 2 and m["Hello::greet"](2) == 3
        assert {"greet", "twice"} <= set(dir(m)) and not hasattr(m, "hidden")
        assert "Doubles." in m.twice.__doc__
        # A definition beside it sees what it offers.
        m.define("int more(int n) { return greet(n) + Hello::greet(n); }")
        assert m.more(1) == 4
    path.write_text(HELLO.replace("n + 1", "n + nowhere"))
    with pytest.raises(ravel.CompileError, match="nowhere") as caught:
        ravel.module(path)
    assert caught.value.diagnostics[0]["place"]["file"] == str(path)
    misnamed = tmp_path / "other.sac"
    misnamed.write_text(HELLO)
    assert ravel.module(misnamed).greet(1) == 2
