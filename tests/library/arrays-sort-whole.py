import numpy as np
from cases import Table, whole

t = Table()


def both(name, v, kind):
    v = np.asarray(v)
    order = np.argsort(v, kind="stable")
    # Backwards, equal elements keep their order.
    down = (len(v) - 1 - np.argsort(v[::-1], kind="stable"))[::-1].astype(int)
    t.exact(f"{name} sort", v[order], kind)
    t.exact(f"{name} values", v[order], kind)
    t.exact(f"{name} order", order, "int")
    t.exact(f"{name} down", v[down], kind)
    t.exact(f"{name} down values", v[down], kind)
    t.exact(f"{name} down order", down, "int")
    return down


few = whole(3, (600,), 7)
many = whole(4, (600,), 9973)


def ints(name, value):
    t.exact(name, value, "int")


down = both("few", few, "int")
both("many", many, "int")
both("equal", np.full(100, 4), "int")
both("sorted", np.sort(many), "int")
both("reversed", np.sort(many)[::-1], "int")
both("bytes", many.astype(np.int8), "byte")
both("longs", (many - 5000) * 900000000000000, "long")
both("ulongs", many.astype(np.uint64) * np.uint64(1800000000000000), "ulong")
both("near longs", 4611686018427387904 + few[:200], "long")
both("bools", (few > 3).astype(int), "bool")
both("chars", [ord(c) for c in "sorted"], "char")
both("extremes", [2147483647, -2147483648, 0, -1, 2147483647], "int")
both("none", np.zeros(0, dtype=int), "int")
ints("sort empty axis", np.zeros((0, 3)))
ints("sort to empty", np.zeros((0, 3)))
ints("sort vector axis", [1, 2, 3])
ints("sort unknown", np.sort(whole(5, (17, 3), 20), 0))
ints("argsort few", np.argsort(few, kind="stable"))
ints("argsort of rows", np.argsort(few.reshape(3, 200), 1, kind="stable"))
ints("topk none", np.zeros(0))
ints("topk all at", down)
ints("topk equal at", down[:4])
ints("kth few", np.sort(few)[300])
ints("kth one", 7)
ints("rank few", np.argsort(np.argsort(few, kind="stable")))
ints("rank none", np.zeros(0))
ints("lexsort", np.lexsort([whole(k, (100,), 3) for k in (1, 2, 3)]))
ints("lexsort none", np.zeros(0))
ints("lexsort no keys", [0, 1, 2])
ints("merge empty", [1, 2])
ints("merge with empty", [1, 2])
ints("merge equal", [1, 1, 1, 2, 2, 2])
ints("inverse_permutation", np.argsort(np.argsort(many, kind="stable")))
ints("inverse_permutation none", np.zeros(0))
for name in ("none", "one", "equal"):
    t.exact(f"is_sorted {name}", 1, "bool")
t.write()
