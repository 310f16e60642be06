"""Escapes by code: hexadecimal and Unicode."""


def f():
    return "\x41\x09", "\u00e9", len("\u6f22"), "\U0001f600", "a\x00b"


calls = [()]
