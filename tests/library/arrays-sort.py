import numpy as np
from cases import DTYPE, Table, noise
from sorting import both

t = Table()

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
