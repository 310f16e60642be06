"""Torch loops for ever on rsplit by an empty separator; hearth raises."""


def f(s: str, sep: str):
    return s.rsplit(sep)


calls = [{"args": ("abc", ""), "raises": "RuntimeError: ValueError: empty separator"}]
