from typing import Dict, List, Tuple

import torch
import torch.nn as nn

from . import call, program


@program(call("hello World"), call(""), call("ÀÉ x"))
class CaseAndTests(nn.Module):
    def forward(self, s: str):
        return (
            s.upper(), s.lower(), s.title(), s.capitalize(), s.swapcase(), s.isalpha(), s.isdigit(), s.isspace(),
            s.isupper(), s.islower(), s.istitle(), s.isalnum(), s.isidentifier(), len(s),
        )


@program(call("a,b,,c", ","), call("  a  b ", " "), call("abc", "x"))
class Splits(nn.Module):
    def forward(self, s: str, by: str):
        return s.split(by), s.rsplit(by, 1), s.split(by, 1), s.partition(by), s.rpartition(by), s.splitlines()


@program(call(" \t a b\n"), call("xxaxx"))
class Strips(nn.Module):
    def forward(self, s: str):
        return s.strip(), s.lstrip(), s.rstrip(), s.strip("x"), s.lstrip("x "), s.rstrip("x\n")


@program(call("banana", "an"), call("banana", "z"), call("", "a"))
class Searches(nn.Module):
    def forward(self, s: str, what: str):
        return s.find(what), s.rfind(what), s.count(what), s.startswith(what), s.endswith("na"), s.replace(what, "AN"), what in s


@program(call("banana", "z"), call("banana", "na"))
class IndexRaises(nn.Module):
    def forward(self, s: str, what: str) -> int:
        return s.index(what) + s.rindex(what)


@program(call("abcdef", 2), call("ab", -1), call("abc", 7))
class StringSlices(nn.Module):
    def forward(self, s: str, n: int):
        return s[n:], s[:n], s[-2:], s[::2], s[1:-1]


@program(call("abc", 1), call("abc", -3), call("abc", 3))
class StringIndex(nn.Module):
    def forward(self, s: str, n: int) -> str:
        return s[n]


@program(call("7"), call("-42"), call("long text"))
class Justifies(nn.Module):
    def forward(self, s: str):
        return s.ljust(5), s.rjust(5, "0"), s.center(6, "*"), s.zfill(5), s.expandtabs(4)


@program(call("x", 3, 1.5), call("", -1, 1e20))
class Formats(nn.Module):
    def forward(self, s: str, n: int, x: float):
        a = "{} and {} then {}".format(s, n, x)
        b = "%s|%d|%f|%%" % (s, n, x)
        c = f"{s}={n}/{x}"
        return a, b, c, "{}".format([1, 2]), "{}".format((n, s)), "{} {}".format(True, None)


@program(call(torch.arange(3.0)))
class FormatsATensor(nn.Module):
    def forward(self, x: torch.Tensor) -> str:
        return "x is {} of {}".format(x, x.shape)


@program(call(1))
class TooFewForFormat(nn.Module):
    def forward(self, n: int) -> str:
        return "{} {}".format(n)


@program(call(["a", "b", "c"], "-"), call([], "-"), call(["x"], ""))
class Joins(nn.Module):
    def forward(self, parts: List[str], by: str):
        return by.join(parts), by.join([p.upper() for p in parts])


@program(call("ab", 3), call("", 4), call("ab", 0), call("ab", -1))
class Repeats(nn.Module):
    def forward(self, s: str, n: int):
        return s + str(n), s + s, s == "ab", s < "b", s != "", s >= "ab"


@program(call("hello"), call(""))
class IteratesCharacters(nn.Module):
    def forward(self, s: str) -> List[str]:
        out: List[str] = []
        for c in s:
            out.append(c + "!")
        return out


@program(call("the cat the dog"))
class BuildsAnIndex(nn.Module):
    def forward(self, text: str) -> Dict[str, List[int]]:
        index: Dict[str, List[int]] = {}
        for i, word in enumerate(text.split(" ")):
            if word not in index:
                index[word] = torch.jit.annotate(List[int], [])
            index[word].append(i)
        return index


@program(call("café ☕ \x01\x7f\"quoted\" \\ \n tab\t"))
class UnusualCharacters(nn.Module):
    def forward(self, s: str) -> Tuple[str, int, str]:
        return s + "é\n\t\\\"'", len(s), "naïve ☕"


@program(call("a b  c"), call("  "))
class SplitOnWhitespace(nn.Module):
    def forward(self, s: str):
        return s.split(), s.rsplit()
