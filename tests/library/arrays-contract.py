"""References of arrays-contract.sac: numpy's products."""

import numpy as np

from cases import Table, noise, whole

table = Table()
REALS = ("float", "double")


def some(seed, shape, kind):
    if kind in REALS:
        return noise(seed, shape, kind)
    return np.asarray(whole(seed, shape, 7) - (3 if kind == "int" else 0))


def summed(name, value, kind, magnitude):
    if kind in REALS:
        table.summed(name, value, kind, magnitude)
    else:
        table.exact(name, np.asarray(value) % 256 if kind == "ubyte" else value, kind)


def case(name, f, s, t, kind):
    a, b = some(1, s, kind), some(2, t, kind)
    summed(name, f(a, b), kind, f(np.abs(a), np.abs(b)))


def products(kind):
    for n in (0, 1, 15, 17):
        case("dot", np.dot, (n,), (n,), kind)
    for s, t in (((), (3,)), ((3,), ()), ((3,), (2, 2)), ((16, 2), (3,)), ((2, 0), (3,))):
        case("outer", np.multiply.outer, s, t, kind)
    kron = (((3,), (4,)), ((2, 3), (4, 2)), ((3,), (2, 2)), ((2, 2, 2), (3,)), ((), (3,)), ((2, 3), (2, 5)), ((0, 3), (2, 2)))
    for s, t in kron:
        case("kron", np.kron, s, t, kind)
    for s in ((5,), (3, 17), (3, 0)):
        case("vecdot", lambda a, b: np.sum(a * b, -1), s, s, kind)
    for axis in range(-3, 3):
        for s in ((4, 3, 5), (2, 3, 2)):
            case("vecdot", lambda a, b: np.sum(a * b, axis), s, s, kind)
    for k, s, t in (
        (0, (2,), (3,)),
        (1, (3, 4), (4, 5)),
        (1, (4,), (4, 2, 2)),
        (2, (3, 4), (3, 4)),
        (2, (2, 3, 4), (3, 4, 2)),
        (1, (2, 3, 16), (16, 2)),
        (1, (3, 0), (0, 2)),
        (1, (17, 15), (15, 16)),
    ):
        case("tensordot", lambda a, b: np.tensordot(a, b, k), s, t, kind)


for kind in ("int", "ubyte", *REALS):
    products(kind)
for kind in ("int", "double"):
    case("dot", np.dot, (17,), (17,), kind)
    case("outer", np.multiply.outer, (3,), (2, 2), kind)
    case("kron", np.kron, (2, 3), (4, 2), kind)
    case("vecdot", lambda a, b: np.sum(a * b, -1), (3, 17), (3, 17), kind)
    case("vecdot", lambda a, b: np.sum(a * b, -2), (2, 3, 2), (2, 3, 2), kind)
    case("tensordot", lambda a, b: np.tensordot(a, b, 0), (2,), (3,), kind)
    case("tensordot", lambda a, b: np.tensordot(a, b, 2), (2, 3, 4), (3, 4, 2), kind)
for kind in ("int", *REALS):
    for s in ((3,), (5, 3), (2, 2, 3), (0, 3)):
        summed("cross", np.cross(some(1, s, kind), some(2, s, kind)), kind, 8)
table.exact("nan", [np.nan, 3], "double")
table.write()
