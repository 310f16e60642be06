"""More magic methods: in place, comparison, conversion."""


class W:
    def __init__(self, x: float):
        self.x = x

    def __truediv__(self, o: float) -> float:
        return self.x / o

    def __floordiv__(self, o: float) -> float:
        return self.x // o

    def __mod__(self, o: float) -> float:
        return self.x % o

    def __pow__(self, o: float) -> float:
        return self.x**o

    def __ne__(self, o: "W") -> bool:
        return self.x != o.x

    def __ge__(self, o: "W") -> bool:
        return self.x >= o.x

    def __le__(self, o: "W") -> bool:
        return self.x <= o.x

    def __gt__(self, o: "W") -> bool:
        return self.x > o.x

    def __bool__(self) -> bool:
        return self.x != 0.0

    def __int__(self) -> int:
        return int(self.x)

    def __float__(self) -> float:
        return self.x

    def __str__(self) -> str:
        return "W" + str(self.x)

    def __abs__(self) -> float:
        return abs(self.x)


def f(a: float, b: float):
    p, q = W(a), W(b)
    r = 1 if p else 2
    return p / b, p // b, p % b, p**b, p != q, p >= q, p <= q, p > q, r, int(p), float(p), str(p), bool(p)


calls = [(3.5, 2.0), (0.0, 1.0)]
