"""The is... methods."""


def f(s: str):
    return (
        s.isupper(),
        s.islower(),
        s.isalpha(),
        s.isdigit(),
        s.isalnum(),
        s.isspace(),
        s.isdecimal(),
        s.isnumeric(),
        s.istitle(),
        s.isidentifier(),
        s.isprintable(),
    )


calls = [
    ("",),
    ("abc",),
    ("ABC",),
    ("Abc Def",),
    ("123",),
    ("a1",),
    (" \t\n",),
    ("a b",),
    ("_x1",),
    ("1x",),
    ("\x00",),
    ("caf\u00e9",),
    ("A1 B",),
    ("class",),
]
