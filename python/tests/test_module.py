"""What users of `ravel.module` rely on."""

import os
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
    with pytest.raises(ravel.CompileError) as caught:
        m.twice(np.arange(3))
    assert caught.value.diagnostics[0]["code"] == "E0310"
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
    with pytest.raises(ravel.CompileError):
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
