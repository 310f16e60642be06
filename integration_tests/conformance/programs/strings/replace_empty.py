"""Torch loops for ever on replacing an empty string; hearth raises."""


def f(s: str, a: str):
    return s.replace(a, "y")


calls = [{"args": ("abc", ""), "raises": "RuntimeError: ValueError: replace() of an empty string"}]
