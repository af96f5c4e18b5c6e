"""Functions of modules that take derivatives are functions like others."""

import threading

import numpy as np
import pytest

import ravel

SOURCE = """use Array: all;
use MathArray: all;
use AutoDiff: all;
double misfit(double[m,n] w, double[n] x, double[m] y)
{
    r = { [i] -> tanh(sum(w[i] * x)) - y[i] };
    return sum(r * r);
}
double, double[m,n] misfit_grad(double[m,n] w, double[n] x, double[m] y) { return value_grad(misfit(w, x, y), w); }
double[n] slopes(double[n] x) { return grad(sum(sin(x) * x), x); }
double[n,n] hessian(double[n] x) { return { [i] -> grad(slopes(x)[i], x) | [i] < [n] }; }
float[n] pulled(float[n] x, float[n] s) { return vjp(exp(x), x, s); }
double[*] of_any_rank(double[*] x) { return grad(sum(x * x * x), x); }
double logarithm(double x) { return x > 0d ? log(x) : 0d; }
double slope(double x) { return grad(logarithm(x), x); }
"""


@pytest.fixture(scope="module")
def g():
    return ravel.module(SOURCE, name="gradients")


def some(*shape):
    return np.random.default_rng(3).random(shape)


def test_values_and_gradients(g):
    w, x, y = some(3, 4), some(4), some(3)
    t = np.tanh(w @ x)
    value, slope = g.misfit_grad(w, x, y)
    assert np.isclose(value, np.sum((t - y) ** 2))
    assert np.allclose(slope, (2 * (t - y) * (1 - t * t))[:, None] * x)
    assert g.misfit_grad.instances == ["misfit_grad(double[3,4], double[4], double[3]) -> double, double[3,4]"]


def test_derivatives_of_derivatives(g):
    x = some(4)
    assert np.allclose(g.slopes(x), np.cos(x) * x + np.sin(x))
    assert np.allclose(g.hessian(x), np.diag(2 * np.cos(x) - np.sin(x) * x))


def test_floats_stay_floats(g):
    x, s = some(4).astype("f4"), some(4).astype("f4")
    assert g.pulled(x, s).dtype == np.float32 and np.allclose(g.pulled(x, s), np.exp(x) * s)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 0), (2, 2, 2, 2, 2)])
def test_any_rank(g, shape):
    x = some(*shape)
    slope = g.of_any_rank(x)
    assert np.shape(slope) == shape and np.allclose(slope, 3 * x * x)


def test_branches_not_taken(g):
    assert g.slope(0.5) == 2.0 and g.slope(-1.0) == 0.0


def test_errors_have_their_places(g):
    with pytest.raises(ravel.CompileError, match="`n` of `misfit_grad` is 4 in `w` and 2 in `x`"):
        g.misfit_grad(some(3, 4), some(2), some(3))
    with pytest.raises(ravel.CompileError, match="it is int, not real") as caught:
        ravel.module("use AutoDiff: all; double f(int n) { return grad(tod(n), n); }")
    assert caught.value.diagnostics[0]["code"] == "E0380"


def test_threads_agree(g):
    w, x, y = some(3, 4), some(4), some(3)
    values = []
    threads = [threading.Thread(target=lambda: values.append(g.misfit_grad(w, x, y))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(values) == 8 and all(np.array_equal(slope, values[0][1]) for _, slope in values)
