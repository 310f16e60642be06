"""Every ASCII character through the tests and the case methods."""

from typing import List


def f():
    out: List[str] = []
    flags: List[bool] = []
    for i in range(1, 128):
        c = chr(i)
        out.append(c.upper() + c.lower() + c.title() + c.swapcase() + c.capitalize())
        flags.append(c.isalpha())
        flags.append(c.isdigit())
        flags.append(c.isspace())
        flags.append(c.isprintable())
        flags.append(c.isidentifier())
        flags.append(c.isupper())
    return out, flags


calls = [()]
