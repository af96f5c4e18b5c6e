import numpy as np
from cases import DTYPE, Table, noise
from sorting import both

t = Table()


def misleading(n, levels):
    """The values of `misleading` in arrays-sort.sac."""
    left = np.arange(n)
    v = (levels + left * 7919 % 601).astype(float)
    v[n - 1] = 1e20
    for level in range(levels):
        step = len(left) // 32
        at = [k * step + k * 31 % step for k in range(32)]
        v[left[at]] = level
        left = np.delete(left, at)
    return v


for kind in ("float", "double"):

    def same(name, value, kind=kind):
        t.exact(f"{name} {kind}", value, kind)

    def ints(name, value, kind=kind):
        t.exact(f"{name} {kind}", value, "int")

    inf, nan = np.inf, np.nan
    x = noise(1, (600,), kind)
    for n in (1, 15, 17, 64, 65, 600):
        down = both(t, f"{kind} {n}", x[:n], kind)
    both(t, f"{kind} special", [0, inf, nan, -1, -inf, nan, 5, -0.0, 0], kind)
    both(t, f"{kind} empty", x[600:], kind)
    # Products are rounded to the type, step by step.
    z = x.astype(DTYPE[kind])
    y = z
    for _ in range(14):
        y = y * z
    y = y.astype(np.float64)
    both(t, f"{kind} steep", y, kind)
    at = np.arange(600) % 100 == 7
    both(t, f"{kind} inf", np.where(at, inf, x), kind)
    both(t, f"{kind} nan", np.where(at, nan, x), kind)
    both(t, f"{kind} all nan", np.full(70, nan), kind)
    both(t, f"{kind} unknown", x, kind)
    i = np.arange(70)
    both(t, f"{kind} infinite", np.where(i % 3 == 0, inf, np.where(i % 3 == 1, -inf, i % 2)), kind)
    real = DTYPE[kind]
    tiny, greatest = (real(1e-44), np.finfo(real).max) if kind == "float" else (1e-322, np.finfo(real).max)
    both(t, f"{kind} denormal", tiny * (np.arange(101) * 37 % 101 - 50).astype(real), kind)
    both(t, f"{kind} wide", z * real(0.49) * greatest, kind)
    both(t, f"{kind} equal", np.full(70, 3.0), kind)
    both(t, f"{kind} sorted", np.sort(x), kind)
    both(t, f"{kind} reversed", np.sort(x)[::-1], kind)
    both(t, f"{kind} misleading", misleading(600, 4).astype(real), kind)
    i = np.arange(100)
    zeros = np.where(i % 3 == 0, -0.0, np.where(i % 3 == 1, 0.0, x[:100])).astype(real)
    both(t, f"{kind} zeros", zeros, kind)
    t.exact(f"signs of zeros {kind}", np.ones(100), "bool")
    with np.errstate(divide="ignore"):
        ordered = np.sort(zeros, kind="stable")
        same("signs of zeros alone", np.where(ordered == 0, real(1) / ordered, ordered))
    m = noise(2, (3, 17, 2), kind)
    same("sort axis", np.sort(m, -1))
    same("sort axis values", np.sort(m, 1))
    ints("sort axis order", np.argsort(m, 1, kind="stable"))
    ints("argsort", np.argsort(x, kind="stable"))
    ints("argsort axis", np.argsort(m, 0, kind="stable"))
    ints("argsort unknown", np.argsort(m, 1, kind="stable"))
    same("sort_descending axis", np.sort(m, 1)[:, ::-1])
    same("topk", x[down[:5]])
    ints("topk at", down[:5])
    same("topk values", x[down[:5]])
    same("topk many", x[down[:40]])
    ints("topk many at", down[:40])
    numbers = [i for i in range(110) if i % 99 >= 97]
    numbers.sort(key=lambda i: -x[i])
    same("topk nan", [x[i] for i in numbers] + [nan] * (3 - len(numbers)))
    ints("topk nan at", numbers + [0] * (3 - len(numbers)))
    s = np.sort(x)
    same("kth 0", s[0])
    same("kth 300", s[300])
    same("kth last", s[599])
    same("kth steep", np.sort(y)[200])
    ints("rank", np.argsort(np.argsort(x[:17], kind="stable")))
    ints("lexsort", np.lexsort([x[:17], np.zeros(17)]))
    same("merge", np.sort(x[:50]))
    same("merge nan", [0, 1, nan, nan])
    for name, value in (("", 1), (" not", 0), (" nan", 1), (" nan first", 0)):
        t.exact(f"is_sorted{name} {kind}", value, "bool")
t.write()
