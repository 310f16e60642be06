"""Reads what hearth wrote, as its users would: test_load.py FILE... prints the text of each value, a line each."""

import sys

import torch

from test_files import describe

for path in sys.argv[1:]:
    print(describe(torch.load(path, weights_only=True)))
