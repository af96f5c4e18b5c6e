"""References for nn-recurrent.sac: torch in double precision, on inputs rounded to the type.

Sequences of different lengths run one by one, each on its own: the definition of what packed ones give.
"""

import torch

from cases import Table, noise

t = Table()
TIMES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


def tensor(seed, shape, kind):
    return torch.tensor(noise(seed, shape, kind), dtype=torch.float64)


def layer(cell, w, r, b, d):
    """A layer of torch with our weights, as a function of sequences, which keeps their gradients."""
    two = w.dim() == 3
    make = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}.get(cell, torch.nn.RNN)
    more = {} if cell in ("lstm", "gru") else {"nonlinearity": cell}
    net = make(w.shape[-1], r.shape[-1], bidirectional=two, dtype=torch.float64, **more)
    names, parts = [], []
    for side, suffix in enumerate(("", "_reverse") if two else ("",)):
        for key, value in (("weight_ih", w), ("weight_hh", r), ("bias_ih", b), ("bias_hh", d)):
            names.append(f"{key}_l0{suffix}")
            parts.append(value[side] if two else value)
    return lambda *args: torch.func.functional_call(net, dict(zip(names, parts)), args)


def run(cell, T, n, k, m, kind, two=False, lengths=None, bias=True, skip=False):
    """Results and gradients by name."""
    f, q = ([2] if two else []), TIMES[cell] * m
    leaf = lambda seed, shape, by=1: (tensor(seed, shape, kind) / by).requires_grad_()
    x = leaf(1, [T, n, m if skip else k])
    w, r = leaf(2, f + [q, k], 2), leaf(3, f + [q, m], 2)
    b, d = leaf(4, f + [q]), leaf(5, f + [q])
    h0, c0 = leaf(6, f + [n, m]), leaf(7, f + [n, m])
    dh, dc, dy = tensor(8, f + [n, m], kind), tensor(9, f + [n, m], kind), tensor(10, [T, n, (2 if two else 1) * m], kind)
    weights = torch.cat([torch.eye(m, dtype=torch.float64)] * 4) if skip else w
    biases = (b if bias else 0 * b, d if bias and cell == "gru" else 0 * d)
    net = layer(cell, weights, r, *biases)
    sides = lambda a: a if two else a[None]
    ys, hs, cs = [], [], []
    for i in range(n):
        size = T if lengths is None else lengths[i]
        state = [sides(a)[:, i : i + 1] for a in (h0, c0)]
        y = torch.zeros(0, 1, dy.shape[-1], dtype=torch.float64)
        if size:
            y, state = net(x[:size, i : i + 1], tuple(state) if cell == "lstm" else state[0])
            state = state if cell == "lstm" else (state, sides(c0)[:, i : i + 1])
        ys.append(torch.cat([y, torch.zeros(T - size, 1, dy.shape[-1], dtype=torch.float64)]))
        hs.append(state[0])
        cs.append(state[1])
    if n == 0:
        y, h, c = x.new_zeros(T, 0, dy.shape[-1]), h0, c0
        grads = [torch.zeros_like(a) for a in (x, w, r, b, d)] + [dh, dc]
    else:
        y, h, c = torch.cat(ys, 1), torch.cat(hs, 1), torch.cat(cs, 1)
        h, c = (a if two else a[0] for a in (h, c))
        total = (y * dy).sum() + (h * dh).sum() + ((c * dc).sum() if cell == "lstm" else 0)
        grads = torch.autograd.grad(total, (x, w, r, b, d, h0, c0), allow_unused=True)
        grads = [torch.zeros_like(a) if g is None else g for g, a in zip(grads, (x, w, r, b, d, h0, c0))]
    out = dict(zip(("dx", "dw", "dr", "db", "dd", "dh0", "dc0"), grads))
    out.update(y=y, h=h, c=c)
    if skip:
        out["dw"] = w
    return {key: value.detach() for key, value in out.items()}


def lines(name, out, keys, kind):
    for key in keys.split():
        t.summed(f"{name} {key}", out[key], kind, 16)


LSTM, BACKC = "y h c", "dx dw dr dh0 db dc0"
GRU, BACKD = "y h", "dx dw dr dh0 db dd"
BACK4, BACK5 = "dx dw dr dh0", "dx dw dr dh0 db"


def lstm_all(name, kind, *sizes):
    lines(name, run("lstm", *sizes, kind), f"{LSTM} {BACKC}", kind)


def lstm_more(name, *sizes):
    out = run("lstm", *sizes, "double")
    lines(name, out, BACKC, "double")
    lines(name, run("lstm", *sizes, "double", bias=False), f"{LSTM} {BACK4}", "double")
    lines(name, run("lstm", *sizes, "double", skip=True), f"{LSTM} {BACKC}", "double")
    lines(name, {"y": out["h"], "h": out["c"]}, "y h", "double")


def lstm_sequences(name, *sizes, lengths):
    lines(name, run("lstm", *sizes, "double", lengths=lengths), f"{LSTM} {BACKC} {BACKC}", "double")


def lstm_two(name, *sizes, lengths):
    lines(name, run("lstm", *sizes, "double", True, lengths), f"{LSTM} {BACKC} {BACKC}", "double")
    lines(name, run("lstm", *sizes, "double", True), f"{LSTM} {BACKC}", "double")


def gru_all(name, *sizes):
    out = run("gru", *sizes, "double")
    lines(name, out, f"{GRU} {BACKD}", "double")
    lines(name, run("gru", *sizes, "double", bias=False), f"{GRU} {BACK4}", "double")
    t.summed(name, out["h"], "double", 16)


def gru_sequences(name, *sizes, lengths):
    lines(name, run("gru", *sizes, "double", lengths=lengths), f"{GRU} {BACKD}", "double")


def gru_two(name, *sizes, lengths):
    lines(name, run("gru", *sizes, "float", True, lengths), f"{GRU} {BACKD}", "float")
    lines(name, run("gru", *sizes, "float", True), f"{GRU} {BACKD}", "float")


def rnn_all(cell, kind, *sizes, lengths):
    out = run(cell, *sizes, kind)
    lines(cell, out, f"{GRU} {BACK5}", kind)
    lines(cell, run(cell, *sizes, kind, lengths=lengths), f"{GRU} {BACK5}", kind)
    t.summed(cell, out["h"], kind, 16)


def rnn_two(cell, kind, *sizes, lengths):
    lines(f"{cell} both", run(cell, *sizes, kind, True, lengths), f"{GRU} {BACK5}", kind)


lstm_all("lstm", "float", 3, 2, 3, 4)
lstm_all("lstm", "double", 4, 3, 1, 5)
lstm_all("lstm one", "double", 1, 1, 1, 1)
lstm_all("lstm 17", "float", 2, 15, 1, 17)
lstm_all("lstm no time", "double", 0, 2, 3, 2)
lstm_all("lstm no batch", "double", 2, 0, 3, 2)
lstm_more("lstm more", 3, 2, 3, 4)
lstm_sequences("lstm falling", 4, 4, 2, 3, lengths=[4, 4, 2, 1])
lstm_sequences("lstm any order", 5, 4, 1, 2, lengths=[0, 3, 5, 1])
lstm_two("lstm both", 4, 3, 2, 2, lengths=[4, 2, 1])
gru_all("gru", 3, 2, 3, 4)
gru_all("gru one", 1, 1, 1, 1)
gru_all("gru 15", 2, 17, 1, 15)
gru_sequences("gru falling", 4, 4, 2, 3, lengths=[4, 3, 3, 1])
gru_sequences("gru any order", 5, 4, 1, 2, lengths=[0, 3, 5, 1])
gru_two("gru both", 4, 3, 2, 2, lengths=[1, 4, 2])
rnn_all("tanh", "double", 3, 3, 2, 4, lengths=[3, 2, 1])
rnn_two("tanh", "double", 4, 3, 2, 3, lengths=[2, 4, 1])
rnn_all("relu", "float", 3, 3, 2, 4, lengths=[3, 3, 0])
rnn_two("relu", "float", 3, 2, 3, 2, lengths=[3, 2])
t.write()
