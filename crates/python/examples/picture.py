"""Draws the times that ``cluster.py`` has measured, as bars: a picture in SVG, for light and dark pages.

    python crates/python/examples/picture.py FIGURES PICTURE
"""

import html
import json
import sys

COLOURS = ["#0072B2", "#D55E00", "#009E73"]
LEFT, WIDTH, BAR, GAP = 190, 430, 18, 8

STYLE = (
    "<style>text { font: 13px sans-serif; fill: #1F2328 } .title { font-weight: bold }"
    "@media (prefers-color-scheme: dark) { .page { fill: #0D1117 } text { fill: #E6EDF3 } }</style>"
)


def text(x, y, words, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}"{more}>{html.escape(words)}</text>'


def drawn(figures):
    """The picture of all engines, each with its own scale."""
    lines, y = [], 24
    steps = list(dict.fromkeys(step for ways in figures.values() for times in ways.values() for step in times))
    for engine, ways in figures.items():
        lines.append(text(12, y, f"{engine}: seconds", ' class="title"'))
        y += 12
        most = max(sum(times.values()) for times in ways.values())
        for way, times in ways.items():
            lines.append(text(LEFT - 8, y + BAR - 5, way, ' text-anchor="end"'))
            x = LEFT
            for step, seconds in times.items():
                wide, colour = seconds / most * WIDTH, COLOURS[steps.index(step) % len(COLOURS)]
                lines.append(f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{BAR}" fill="{colour}"/>')
                x += wide
            lines.append(text(x + 6, y + BAR - 5, f"{sum(times.values()):.1f}"))
            y += BAR + GAP
        y += 26
    for at, step in enumerate(steps):
        lines.append(f'<rect x="{LEFT + at * 110}" y="{y - 12}" width="14" height="14" fill="{COLOURS[at % len(COLOURS)]}"/>')
        lines.append(text(LEFT + at * 110 + 20, y, step))
    page = '<rect class="page" width="100%" height="100%" fill="#FFFFFF"/>'
    size = f'width="{LEFT + WIDTH + 60}" height="{y + 16}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', STYLE, page, *lines, "</svg>", ""])


if __name__ == "__main__":
    with open(sys.argv[1]) as figures, open(sys.argv[2], "w") as picture:
        picture.write(drawn(json.load(figures)))
