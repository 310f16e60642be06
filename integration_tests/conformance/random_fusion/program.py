"""A random fusion group as a TorchScript function, and the calls of it.

It is grown on the values of its first call: a statement that raises there, or that makes almost everything inf or nan, is
left out. No statement changes the shape but by broadcasting, since groups of kernels are made of such."""

import math
import random
import re
import warnings
from dataclasses import dataclass, field

import torch

from integration_tests.conformance.random_fusion import inputs, operators

_HOLE = re.compile(r"\{([A-Z])\}")
_DTYPES = [f"torch.{name}" for name in "float32 float64 float16 bfloat16 int64 int32 int8 uint8 bool".split()]
_KINDS = {
    "A": lambda dtype: dtype.is_floating_point,
    "I": lambda dtype: not dtype.is_floating_point and dtype != torch.bool,
    "B": lambda dtype: dtype == torch.bool,
    "N": lambda dtype: dtype != torch.bool,
    "X": lambda dtype: True,
    "Z": lambda dtype: not dtype.is_floating_point,
}
MOST_STATEMENTS = 20


@dataclass
class Program:
    name: str
    arguments: list = field(default_factory=list)  # (name, type)
    statements: list = field(default_factory=list)  # (name, expression)
    results: list = field(default_factory=list)  # names
    calls: list = field(default_factory=list)  # lists of values

    def text(self):
        arguments = ", ".join(f"{name}: {kind}" for name, kind in self.arguments)
        lines = [f"def {self.name}({arguments}):"]
        lines += [f"    {name} = {expression}" for name, expression in self.statements]
        lines.append(f"    return {', '.join(self.results)}")
        return "\n".join(lines) + "\n"


HEAD = "import math\nimport torch\nfrom torch import Tensor\n\n\n"


def generate(seed, number):
    return _Generator(seed, number).program


def names_in(expression):
    return re.findall(r"\b[xvkn]\d+\b", expression)


class _Generator:
    def __init__(self, seed, number):
        self._chance = random.Random(f"fusion {seed} {number}")
        self._generator = torch.Generator().manual_seed(self._chance.getrandbits(60))
        self._program = self.program = Program(f"p{number}")
        rank = self._chance.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 5))
        self._sizes = inputs.sizes(self._chance, rank)
        self._in_place = self._chance.random() < 0.08
        self._rows = 0.0 if rank == 0 or self._chance.random() < 0.6 else 0.2
        # The last size is a constant of the program, as in models.
        self._constant_row = self._chance.random() < 0.5 and rank > 0
        if self._constant_row:
            for sizes in self._sizes[1:]:
                sizes[-1] = self._sizes[0][-1]
        self._values = {}
        self._tensors = []
        self._makers = []  # of what the arguments are in a call
        dtypes = self._dtypes()
        for i in range(self._chance.randint(1, 4)):
            self._add_tensor(rank, self._chance.choice(dtypes if i else [d for d in dtypes if d != torch.bool]), whole=i == 0)
        if self._constant_row and self._chance.random() < 0.7:
            last = self._sizes[0][-1]
            name = f"v{len(self._program.statements)}"
            self._program.statements.append((name, f"{self._tensors[0]}.contiguous().view({self._shape_text(rank, last)})"))
            self._values[name] = self._values[self._tensors[0]].reshape(self._sizes[0])
            self._tensors[0] = name
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            self._grow(self._chance.randint(3, MOST_STATEMENTS))
            self._end()

    def _shape_text(self, rank, last):
        first = self._tensors[0]
        return ", ".join([*(f"{first}.size({i})" for i in range(rank - 1)), str(last)])

    def _dtypes(self):
        if self._chance.random() < 0.6:  # mostly one, as in models
            return [self._chance.choice(inputs.FLOATING[:1] * 3 + inputs.FLOATING)] * 4 + [torch.bool]
        return [*inputs.FLOATING, *inputs.INTEGER, torch.bool]

    def _add_tensor(self, rank, dtype, whole):
        name = f"x{len(self._program.arguments)}"
        self._program.arguments.append((name, "Tensor"))
        tensor = inputs.TensorInput(self._chance, rank, dtype, whole)
        self._makers.append(lambda sizes: tensor.make(sizes, self._generator, self._chance))
        self._values[name] = self._makers[-1](self._sizes[0])
        self._tensors.append(name)

    def _add_number(self, kind):
        name = f"{kind[0].replace('f', 'k').replace('i', 'n')}{len(self._program.arguments)}"
        self._program.arguments.append((name, kind))
        self._makers.append(lambda sizes: inputs.number(self._chance, kind))
        self._values[name] = self._makers[-1](self._sizes[0])
        return name

    def _grow(self, count):
        for _ in range(count * 4):
            if len(self._program.statements) >= count:
                break
            arguments = len(self._program.arguments)
            expression = self._expression()
            if expression is None or not self._run(expression):
                # Arguments for it alone go again.
                for name, _ in self._program.arguments[arguments:]:
                    del self._values[name]
                del self._program.arguments[arguments:], self._makers[arguments:]

    def _expression(self):
        draw = self._chance.random()
        table = operators.POINTWISE
        if draw < self._rows:
            table = operators.ROWS
        elif self._in_place and draw > 0.8:
            table = operators.IN_PLACE
        texts = self._chance.choices([texts for _, texts in table], [weight for weight, _ in table])[0]
        text, first = self._chance.choice(texts), []

        def fill(match):
            found = self._operand(match[1], first[0] if first else None)
            if found in first and self._chance.random() < 0.9:
                found = self._operand(match[1], first[0])
            if found is None:
                raise LookupError
            first.append(found)
            return found

        try:
            return _HOLE.sub(fill, text)
        except LookupError:
            return None

    def _operand(self, hole, first):
        chance = self._chance
        if hole in _KINDS:
            fitting = [name for name in self._tensors if _KINDS[hole](self._values[name].dtype)]
            if not fitting:
                return None
            # Rather what is as large as the first argument, and the last ones: chains, and not bushes.
            whole = [name for name in fitting if self._values[name].shape == self._values["x0"].shape]
            fitting = whole if whole and (first is None or chance.random() < 0.7) and chance.random() < 0.9 else fitting
            return chance.choice(fitting[-3:] if chance.random() < 0.6 else fitting)
        if hole == "Y":
            fitting = [n for n in self._tensors if n[0] == "v" and self._values[n].is_floating_point()]
            return chance.choice(fitting) if fitting else None
        if hole == "S":
            draw = chance.random()
            if draw < 0.2:
                return self._add_number("float" if chance.random() < 0.7 else "int")
            hole = "C" if draw < 0.7 else "K"
        if hole == "C":
            return str(chance.choice((0.5, 2.0, -1.5, 0.1, 3.0, -0.3, 0.0, 1.0, -1.0, 7.25, 0.001, 100.0)))
        if hole == "K":
            return str(chance.choice((0, 1, 2, 3, 5, -1, -4, 7, 100)))
        if hole == "P":
            return str(chance.choice((0.5, 1.0, 2.0, 0.1, 6.0, 20.0)))
        if hole == "Q":
            return str(chance.choice((1, 2, 3, 7, -2, -5, 10)))
        if hole in "TF":
            return chance.choice(_DTYPES if hole == "T" else _DTYPES[:4])
        tensor = self._values[first]
        if tensor.dim() == 0:
            return None
        if hole == "D":
            return str(chance.randrange(-tensor.dim(), tensor.dim()))
        if hole == "R":
            last = min(chance.choice((1, 1, 1, 2)), tensor.dim())
            if self._constant_row and last == 1:
                return f"[{tensor.size(-1)}]"
            return f"[{', '.join(f'{first}.size({i - last})' for i in range(last))}]"
        fitting = [n for n in self._tensors if self._values[n].shape == tensor.shape[-1:]]
        return chance.choice(fitting) if hole == "W" and fitting else self._add_weight(tensor)

    def _add_weight(self, like):
        """A layer norm's; of a constant, since of an argument's size nothing is known."""
        if not self._constant_row:
            return "None"
        dtype = str(like.dtype)
        return f"torch.arange({like.size(-1)}).to({dtype}) * 0.01"

    def _run(self, expression):
        """Whether it is a statement of the program now."""
        in_place = "_(" in expression and expression.split("(")[0].endswith("_")
        target = expression.split(".")[0]
        if in_place and torch._debug_has_internal_overlap(self._values[target]) != 0:
            return False
        before = self._values[target].clone() if in_place else None
        try:
            value = eval(expression, {"torch": torch, "math": math}, self._values)
        except RuntimeError:
            if in_place:
                self._values[target].copy_(before)
            return False
        given = [self._values[name] for name in names_in(expression)]
        was_finite = all(v.isfinite().double().mean().item() > 0.5 for v in given if isinstance(v, torch.Tensor) and v.numel())
        bad = value.numel() > 0 and value.isfinite().double().mean().item() < 0.5 and was_finite
        if bad and self._chance.random() < 0.9:
            if in_place:
                self._values[target].copy_(before)
            return False
        name = f"v{len(self._program.statements)}"
        self._program.statements.append((name, expression))
        self._values[name] = value
        self._tensors.append(name)
        return True

    def _end(self):
        program = self._program
        names = [name for name, _ in program.statements]
        used = {name for _, expression in program.statements for name in names_in(expression)}
        # What nobody uses is a result, and now and then what somebody does.
        more = [name for name in names if name not in used] + [n for n in names if n in used and self._chance.random() < 0.12]
        program.results = sorted(set(more), key=names.index)[-7:] or ["x0"]
        for sizes in self._sizes:
            program.calls.append([make(sizes) for make in self._makers])
        if len(program.calls) == 1:
            program.calls.append([make(self._sizes[0]) for make in self._makers])
