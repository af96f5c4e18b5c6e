import numpy as np
from cases import Table, whole

t = Table()


def some(name, v, kind):
    order = np.argsort(v, kind="stable")
    w = v[order]
    places = np.arange(len(v) // 997) * 997
    t.exact(f"{name} some", w[places], kind)
    t.exact(f"{name} places", order[places], "int")
    t.exact(f"{name} right", 1, "bool")
    t.exact(f"{name} kth", w[len(v) // 3], kind)


v = whole(1, (70000,), 9973) * 9973 + whole(2, (70000,), 9973)
some("cached", v[:32768], "int")
some("parts", v[:32769], "int")
some("int", v, "int")
some("long", v * 40000000000, "long")
some("float", v.astype(np.float32), "float")
some("double", v - 5e7, "double")
x = (v - 5e7) * 1e-7
some("crowded", x * x * x * x * x * x * x * x * x, "double")
some("far", np.where(np.arange(70000) == 30000, 1e200, x), "double")
some("few", v % 3, "int")
t.write()
