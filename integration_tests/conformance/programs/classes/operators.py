"""Magic methods behind operators."""


class V:
    def __init__(self, x: int):
        self.x = x

    def __add__(self, o: "V") -> "V":
        return V(self.x + o.x)

    def __sub__(self, o: "V") -> "V":
        return V(self.x - o.x)

    def __mul__(self, k: int) -> "V":
        return V(self.x * k)

    def __neg__(self) -> "V":
        return V(-self.x)

    def __eq__(self, o: "V") -> bool:
        return self.x == o.x

    def __lt__(self, o: "V") -> bool:
        return self.x < o.x

    def __len__(self) -> int:
        return self.x

    def __contains__(self, k: int) -> bool:
        return k == self.x

    def __getitem__(self, k: int) -> int:
        return self.x + k

    def __call__(self, k: int) -> int:
        return self.x * k


def f(a: int, b: int):
    p, q = V(a), V(b)
    return (p + q).x, (p - q).x, (p * 3).x, (-p).x, p == q, p < q, len(p), b in p, p[10], p(7)


calls = [(3, 4), (2, 2)]
