"""Torch loops for ever on counting an empty string; hearth raises."""


def f(s: str, a: str):
    return s.count(a)


calls = [{"args": ("abc", ""), "raises": "RuntimeError: ValueError: count() of an empty string"}]
