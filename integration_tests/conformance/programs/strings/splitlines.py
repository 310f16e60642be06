"""splitlines knows the ends of lines that Python knows."""


def f(s: str):
    return s.splitlines(), s.splitlines(True)


calls = [("a\nb\r\nc\rd",), ("",), ("\n",), ("a\n",), ("a\n\nb",), ("a\x0bb\x0cc",)]
