"""Random TorchScript programs: a seeded generator of typed programs, their inputs, and a reducer.

    tree.py          types, expressions, statements and functions of a generated program, and their text
    scope.py         what a body may name: variables with their types, loops around, what may be called
    scalars.py       expressions of int, float, bool, complex and str
    containers.py    expressions of lists, dicts, tuples, Optional, Union and classes
    tensors.py       expressions of tensors, and statements that write into them
    statements.py    statements and blocks
    program.py       a file of programs: declarations that they share, then the programs; `generate(seed, file)`
    inputs.py        arguments for a program
    reducer.py       shrinks a failing program on its tree
    check.py         runs files in torch.jit and in hearth and compares

Program N of seed S is the same on every machine and in every run.
"""
