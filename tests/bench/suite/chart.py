"""The figures as a picture: per case, how much longer than Ravel each peer takes, on a logarithmic axis."""
from html import escape
from math import ceil, floor, log10

from .rounds import RAVEL, median
from .table import own

COLORS = {"Ravel Cranelift": "#8a63d2", "C": "#222222", "NumPy": "#1f77b4", "PyTorch": "#e4572e", "JAX": "#2a9d5c",
          "Numba": "#d4a017"}
ROW, LEFT, RIGHT, TOP, BOTTOM, WIDTH = 20, 270, 30, 76, 44, 960


def chart(cases, figures, threads, title):
    rows = [(case, row[threads]) for case, row in zip(cases, figures) if own(row[threads])]
    ratios = {}
    for case, entries in rows:
        mine = own(entries)
        others = {n: median(e) for n, e in entries.items() if n != RAVEL["llvm"]}
        ratios[case.name] = {n: t / mine for n, t in others.items() if t and n in COLORS}
    everything = [r for case in ratios.values() for r in case.values()] or [1.0]
    low, high = floor(log10(min(everything + [0.5])) * 2) / 2, ceil(log10(max(everything + [2.0])) * 2) / 2
    height = TOP + ROW * len(rows) + BOTTOM
    scale = (WIDTH - LEFT - RIGHT) / (high - low)

    def x(ratio):
        return LEFT + (log10(ratio) - low) * scale

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#222">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="16" y="24" font-size="15" font-weight="600">{escape(title)}</text>',
    ]
    offset = 16
    for name, color in COLORS.items():
        if any(name in r for r in ratios.values()):
            out.append(f'<circle cx="{offset + 5}" cy="46" r="5" fill="{color}"/>')
            out.append(f'<text x="{offset + 15}" y="50">{escape(name)}</text>')
            offset += 30 + 8 * len(name)
    bottom = TOP + ROW * len(rows)
    for exponent in range(floor(low), ceil(high) + 1):
        for digit in (1, 2, 5):
            tick = digit * 10.0**exponent
            if not low <= log10(tick) <= high:
                continue
            one = tick == 1
            out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 4}" y2="{bottom}" '
                       f'stroke="{"#222" if one else "#ddd"}" stroke-width="{1.5 if one else 1}"/>')
            out.append(f'<text x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle" fill="#555">{tick:g}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{bottom + 34}" text-anchor="middle" fill="#555">'
               "time / time of Ravel (LLVM where built in): right of 1 is slower than Ravel</text>")
    for number, (case, _) in enumerate(rows):
        y = TOP + ROW * number + ROW / 2
        if number % 2 == 0:
            out.append(f'<rect x="0" y="{y - ROW / 2}" width="{WIDTH}" height="{ROW}" fill="#000" opacity="0.03"/>')
        out.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{escape(case.name)}</text>')
        for name, value in ratios[case.name].items():
            out.append(f'<circle cx="{x(value):.1f}" cy="{y}" r="4.5" fill="{COLORS[name]}" fill-opacity="0.85">'
                       f"<title>{escape(f'{name}: {value:.2f}')}</title></circle>")
    out.append("</svg>")
    return "\n".join(out) + "\n"
