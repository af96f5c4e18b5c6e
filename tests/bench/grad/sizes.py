"""The problems and their sizes. Names are those of the arguments of peers.py, and in capitals those of the macros of the programs."""


def grid(**axes):
    """All combinations, the least work first."""
    found = [{}]
    for name, values in axes.items():
        found = [one | {name: value} for one in found for value in values]

    def work(size):
        product = 1
        for value in size.values():
            product *= value
        return product

    return sorted(found, key=work)


BA = [(49, 7776, 31843), (21, 11315, 36455), (161, 48126, 182072), (372, 47423, 204472), (257, 65132, 225911),
      (539, 65220, 277273), (93, 61203, 287451), (88, 64298, 383937), (810, 88814, 393775), (1197, 126327, 563734),
      (1723, 156502, 678718), (253, 163691, 899155), (245, 198739, 1091386), (356, 226730, 1255268)]

HT = [100, 192, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 100000]
WAYS = ["ff", "fr", "rf", "rr"]

ALL = {
    "hello": [{}],
    "lse": grid(n=[2500 * 2**i for i in range(10)]),
    "llsq": grid(n=[16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8196, 16392], m=[128]),
    "kmeans": grid(n=[1000, 10000], k=[10, 100, 1000], d=[8, 16]),
    "ode": grid(n=[1000, 10000, 100000], s=[1, 10, 100]),
    "gmm": grid(n=[1000], k=[5, 10, 25, 50, 100], d=[2, 10, 20, 32, 64]),
    "lstm": grid(l=[2, 4, 6], c=[1024, 4096, 8192], b=[14]),
    "ba": [dict(n=n, m=m, p=p) for n, m, p in BA],
    "ht": [dict(v=10000, c=c, us=1) for c in HT],
    "det": [dict(n=n) for n in (5, 6, 7, 8, 9, 10, 11)],
    "saddle": [dict(way=way) for way in WAYS],
    "particle": [dict(way=way) for way in WAYS],
}
"""What GradBench runs if it is asked for nothing else."""

TABLE = {
    "hello": [{}],
    "lse": [dict(n=2500), dict(n=1280000)],
    "llsq": [dict(n=256, m=128), dict(n=16392, m=128)],
    "kmeans": [dict(n=1000, k=100, d=8), dict(n=10000, k=100, d=16), dict(n=10000, k=1000, d=16)],
    "ode": [dict(n=1000, s=100), dict(n=100000, s=10), dict(n=100000, s=100)],
    "gmm": [dict(n=1000, k=5, d=2), dict(n=1000, k=25, d=10), dict(n=1000, k=50, d=20), dict(n=1000, k=100, d=64)],
    "lstm": [dict(l=2, c=1024, b=14), dict(l=6, c=8192, b=14)],
    "ba": [dict(n=49, m=7776, p=31843), dict(n=356, m=226730, p=1255268)],
    "ht": [dict(v=544, c=100), dict(v=10000, c=1600, us=1), dict(v=10000, c=100000, us=1)],
    "det": [dict(n=5), dict(n=8), dict(n=8, table=1), dict(n=11, table=1)],
    "saddle": [dict(way="ff"), dict(way="rr")],
    "particle": [dict(way="ff"), dict(way="rr")],
}
"""Those of the table: small and large ones of them."""

SMALL = {
    "hello": {},
    "lse": dict(n=40),
    "llsq": dict(n=30, m=12),
    "kmeans": dict(n=60, k=7, d=3),
    "ode": dict(n=12, s=9),
    "gmm": dict(n=30, k=4, d=5),
    "lstm": dict(l=3, c=9, b=5),
    "ba": dict(n=3, m=7, p=20),
    "ht": dict(v=20, c=9, us=1),
    "det": dict(n=5),
    "saddle": dict(way="rr"),
    "particle": dict(way="rr"),
}
"""For comparisons with JAX."""

TINY = {
    "hello": {},
    "lse": dict(n=6),
    "llsq": dict(n=7, m=4),
    "kmeans": dict(n=9, k=3, d=2),
    "ode": dict(n=4, s=3),
    "gmm": dict(n=5, k=2, d=3),
    "lstm": dict(l=2, c=4, b=3),
    "ba": dict(n=2, m=3, p=4),
    "ht": dict(v=4, c=3),
    "det": dict(n=3),
    "saddle": dict(way="ff"),
    "particle": dict(way="fr"),
}
"""For the interpreter, which runs a program once for every number that it is differentiated by."""

ROWS = {"saddle": ["gradient"], "particle": ["gradient"]}
"""What a problem's program measures, if that is not an objective and its gradient."""


def rows(problem):
    return ROWS.get(problem, ["objective", "gradient"])


def macros(size):
    """The macros of a program; 1 stands for one that is merely defined."""
    return {name.upper(): value for name, value in size.items()}
