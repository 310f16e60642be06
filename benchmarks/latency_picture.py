"""Draws latencies over time as SVG: for every way a line of the medians and, thinner, one of the maxima."""

import array
import math
import statistics

WIDTH, HEIGHT = 960, 340
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 46, 40
BINS = 120
COLOURS = ["#1f77b4", "#d62728", "#ff9f1c", "#2ca02c"]


def line(points, colour, width, opacity) -> str:
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="{width}" '
            f'stroke-opacity="{opacity}" stroke-linejoin="round"/>')


def text(x, y, words, anchor="start", size=12, colour="#333") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{words}</text>'


def by_time(run, end):
    """For each part of the time, its middle and the latencies in ms of what was due in it."""
    bins = [array.array("d") for _ in range(BINS)]
    for due, latency in zip(run.due, run.latency):
        bins[min(BINS - 1, int(due / end * BINS))].append(latency / 1000)
    return [((number + 0.5) * end / BINS, latencies) for number, latencies in enumerate(bins) if latencies]


def panel(title, runs, offset, colours) -> list:
    end = max(run.due[-1] for run in runs.values())
    series = {way: by_time(run, end) for way, run in runs.items()}
    values = [value for parts in series.values() for _, latencies in parts
              for value in (max(latencies), statistics.median(latencies))]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def x(seconds):
        return LEFT + seconds / end * (WIDTH - LEFT - RIGHT)

    def y(milliseconds):
        part = (math.log10(milliseconds) - low) / (high - low)
        return offset + HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)

    drawn = [text(LEFT, offset + 18, title, size=14)]
    for decade in range(low, high + 1):
        drawn.append(line([(LEFT, y(10**decade)), (WIDTH - RIGHT, y(10**decade))], "#ddd", 1, 1))
        drawn.append(text(LEFT - 6, y(10**decade) + 4, f"{10**decade:g} ms", "end"))
    for tick in range(6):
        seconds = tick * end / 5
        drawn.append(text(x(seconds), offset + HEIGHT - BOTTOM + 18, f"{seconds:.1f} s", "middle"))
    for number, (way, parts) in enumerate(series.items()):
        colour = colours[way]
        for _, began, swapped in runs[way].summary["swaps"] or []:
            drawn.append(f'<rect x="{x(began):.1f}" y="{offset + TOP + 5 * number}" '
                         f'width="{max(1.0, x(min(swapped, end)) - x(began)):.1f}" height="4" fill="{colour}"/>')
        drawn.append(line([(x(at), y(max(latencies))) for at, latencies in parts], colour, 1, 0.75))
        drawn.append(line([(x(at), y(statistics.median(latencies))) for at, latencies in parts], colour, 2.5, 1))
        drawn.append(text(LEFT + 220 * number, offset + 36, way, colour=colour, size=13))
    return drawn


def draw(panels) -> str:
    """Of (title, {way: Run}) each. A bar is from where a model is loaded anew to where it is swapped in."""
    ways = dict.fromkeys(way for _, runs in panels for way in runs)
    colours = {way: COLOURS[number % len(COLOURS)] for number, way in enumerate(ways)}
    drawn = []
    for number, (title, runs) in enumerate(panels):
        drawn += panel(f"{title}: median and maximum of the latencies, by the time a request was due", runs,
                       number * HEIGHT, colours)
    height = HEIGHT * len(panels)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>' + "\n".join(drawn) + "</svg>\n")
