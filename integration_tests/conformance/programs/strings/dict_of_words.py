"""Counts words in a dict."""

from typing import Dict


def f(text: str):
    counts: Dict[str, int] = {}
    for word in text.lower().split():
        if word in counts:
            counts[word] += 1
        else:
            counts[word] = 1
    return counts


calls = [("a b a c B",), ("",)]
