"""Random fusion groups: seeded functions of pointwise operators, softmax and layer norm, of which plans make kernels.

    operators.py   what a statement may be: a text with holes for operands
    inputs.py      tensors and numbers to call a program with: sizes, layouts, dtypes, values
    program.py     a program, grown statement by statement on values of its own; `generate(seed, number)`
    noise.py       how far a result may be from LibTorch's, by running the program with rounding errors added
    check.py       makes cases, judges them, and asks `hearth run --explain` for the kernels
    reducer.py     shrinks a program that differs

Program N of seed S is the same on every machine of one LibTorch and in every run.
"""
