#!/usr/bin/env python3
"""Draws tables of benchmarks.models as SVG: how many times as long as hearth's plan each rival takes, model by model.

    python -m benchmarks.ratio_picture TABLES.md... --rivals torch.jit:frozen openvino onnxruntime --output docs/speed.svg
"""

import argparse
import math
import pathlib
import re

from benchmarks.latency_picture import COLOURS, line, text

WIDTH, ROW = 960, 20
LEFT, RIGHT, TOP, BOTTOM = 200, 30, 62, 30
LEAST, MOST = 0.5, 32.0  # times as long; what is beyond is drawn at the edge
RADIUS = 5
RATIO = re.compile(r"([0-9.]+) \([0-9.]+\)$")
OF_RIVAL = " by plan"


class Table:
    """One of models.py's: {model: {rival: ratio}}."""

    def __init__(self, title):
        self.title = title
        self.models = {}

    def add(self, head, cells):
        ratios = {}
        for column, cell in zip(head, cells):
            if column.endswith(OF_RIVAL) and (match := RATIO.match(cell)):
                ratios[column.removesuffix(OF_RIVAL)] = float(match.group(1))
        if cells[0] and not cells[0].startswith(("---", "geometric mean", "of the ")):
            self.models[cells[0]] = ratios


def tables(lines):
    machine, title, head = "", "", None
    for each in lines:
        if each.startswith("Machine: "):
            machine = f", {each.removeprefix('Machine: ').partition(',')[0]}"
        if each.startswith("#"):
            title = each.lstrip("# ") + machine
        if not each.startswith("|"):
            head = None
            continue
        cells = [cell.strip() for cell in each.strip().strip("|").split("|")]
        if head is None:
            head, found = cells, Table(title)
            if any(column.endswith(OF_RIVAL) for column in head):
                yield found
        else:
            found.add(head, cells)


def x_of(ratio):
    part = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + part * (WIDTH - LEFT - RIGHT)


def panel(table, rivals, offset):
    bottom = offset + TOP + ROW * len(table.models)
    drawn = [text(LEFT, offset + 18, f"{table.title}: times as long as hearth takes", size=14)]
    for number, rival in enumerate(rivals):
        x = LEFT + 180 * number
        drawn += [dot(x + RADIUS, offset + 36, COLOURS[number]), text(x + 16, offset + 40, rival, size=13)]
    for power in range(int(math.log2(LEAST)), int(math.log2(MOST)) + 1):
        x, is_hearth = x_of(2.0**power), power == 0
        drawn.append(line([(x, offset + TOP - 8), (x, bottom)], "#333" if is_hearth else "#ddd", 1, 1))
        drawn.append(text(x, bottom + 16, f"{2.0**power:g}", "middle"))
    for row, (model, ratios) in enumerate(table.models.items()):
        y = offset + TOP + ROW * row + ROW / 2 - 4
        drawn.append(text(LEFT - 10, y + 4, model.partition(":")[2] or model, "end"))
        drawn += [dot(x_of(ratios[rival]), y, COLOURS[number]) for number, rival in enumerate(rivals) if rival in ratios]
    return drawn, bottom + BOTTOM


def dot(x, y, colour):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" fill="{colour}" fill-opacity="0.8"/>'


def draw(all_tables, rivals):
    drawn, height = [], 0
    for each in all_tables:
        more, height = panel(each, rivals, height)
        drawn += more
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}" '
            'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>' + "\n".join(drawn) + "</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", type=pathlib.Path)
    parser.add_argument("--rivals", nargs="+", default=["torch.jit:frozen", "torch.compile:frozen", "openvino", "onnxruntime"])
    parser.add_argument("--output", type=pathlib.Path, required=True)
    options = parser.parse_args()
    if len(options.rivals) > len(COLOURS):
        parser.error(f"--rivals: there are colours for {len(COLOURS)}")
    found = [each for file in options.tables for each in tables(file.read_text().splitlines())]
    if not found:
        parser.error("no table of benchmarks.models in these files")
    options.output.write_text(draw(found, options.rivals))


if __name__ == "__main__":
    main()
