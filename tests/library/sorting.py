"""The six results that the programs of arrays-sort and arrays-sort-whole report of one vector."""

import numpy as np


def both(table, name, v, kind):
    """Ascending and descending, each by itself, with the order, and the order; gives the descending order."""
    v = np.asarray(v)
    order = np.argsort(v, kind="stable")
    # Backwards, equal elements keep their order, and NaN stays last.
    down = (len(v) - 1 - np.argsort(v[::-1], kind="stable"))[::-1].astype(int)
    if v.dtype.kind == "f":
        nan = np.isnan(v[down])
        down = np.concatenate((down[~nan], down[nan]))
    table.exact(f"{name} sort", v[order], kind)
    table.exact(f"{name} values", v[order], kind)
    table.exact(f"{name} order", order, "int")
    table.exact(f"{name} down", v[down], kind)
    table.exact(f"{name} down values", v[down], kind)
    table.exact(f"{name} down order", down, "int")
    return down
