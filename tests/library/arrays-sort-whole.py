import numpy as np
from cases import Table, whole
from sorting import both

t = Table()

few = whole(3, (600,), 7)
many = whole(4, (600,), 9973)


def ints(name, value):
    t.exact(name, value, "int")


down = both(t, "few", few, "int")
both(t, "many", many, "int")
both(t, "equal", np.full(100, 4), "int")
both(t, "sorted", np.sort(many), "int")
both(t, "reversed", np.sort(many)[::-1], "int")
both(t, "bytes", many.astype(np.int8), "byte")
both(t, "longs", (many - 5000) * 900000000000000, "long")
both(t, "ulongs", many.astype(np.uint64) * np.uint64(1800000000000000), "ulong")
both(t, "near longs", 4611686018427387904 + few[:200], "long")
both(t, "bools", (few > 3).astype(int), "bool")
both(t, "chars", [ord(c) for c in "sorted"], "char")
both(t, "extremes", [2147483647, -2147483648, 0, -1, 2147483647], "int")
i = np.arange(600)
extremes = np.where(i % 4 == 0, 2147483647, np.where(i % 4 == 1, -2147483648, many))
both(t, "many extremes", extremes[:100], "int")
both(t, "halves", np.where(i % 2 == 0, 0, many - 5000), "int")
both(t, "periods", np.where(i == 300, 1000000000, i % 64), "int")
both(t, "upper digits alike", 1000000000 + few[:200], "int")
both(t, "none", np.zeros(0, dtype=int), "int")
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
