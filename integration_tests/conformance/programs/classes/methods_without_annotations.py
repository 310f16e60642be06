"""Results of methods are inferred, early returns too."""


class Grid:
    def __init__(self, w: int, h: int):
        self.w = w
        self.h = h
        self.cells = [0] * (w * h)

    def at(self, x: int, y: int):
        if x < 0 or y < 0 or x >= self.w or y >= self.h:
            return -1
        return self.cells[y * self.w + x]

    def put(self, x: int, y: int, v: int):
        self.cells[y * self.w + x] = v

    def row(self, y: int):
        return [self.at(x, y) for x in range(self.w)]


def f(w: int, h: int):
    g = Grid(w, h)
    for i in range(w):
        g.put(i, i % h, i + 1)
    return [g.row(y) for y in range(h)], g.at(-1, 0), g.at(0, h)


calls = [(3, 2), (1, 1)]
