"""split without a separator."""


def f(s: str):
    return s.split()


calls = [(" a  b\tc\n",), ("",), ("   ",), ("abc",), ("a\x0bb\x0cc",)]
