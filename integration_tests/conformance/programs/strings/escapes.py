"""Escapes in literals."""


def f():
    return "a\tb\nc\\d\"e'f", "it's", "\a\b\f\v", "\101\x41", "abc"


calls = [()]
