"""Float literals that are hard to print."""


def f(x: float):
    return x * 0.1, 1e-300 * x, 123456789012345680.0 + x, 1e22 * x, 5e-324 * x, 1.7976931348623157e308 * x


calls = [(1.0,), (3.0,)]
