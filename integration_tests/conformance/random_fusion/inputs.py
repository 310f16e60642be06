"""What random fusion groups are called with."""

import torch

FLOATING = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGER = (torch.int64, torch.int32, torch.int8, torch.uint8)
LAYOUTS = ("dense", "channels last", "permuted", "sliced", "strided", "expanded")

# Others than 1 and 0, which programs that meet them are made for.
SIZES = (2, 3, 5, 7, 8, 13, 16, 17, 31, 64)
LARGE = (100, 257, 1000, 4097)


def sizes(chance, rank):
    """The dimensions of a program's values: a list for each call, 1 at the same places in all of them mostly."""
    most = {0: 1, 1: 5000, 2: 9000, 3: 4000, 4: 4000, 5: 4000}[rank]
    first = [_size(chance, rank) for _ in range(rank)]
    while _product(first) > most:
        first = [_size(chance, rank) for _ in range(rank)]
    calls = [first]
    for _ in range(chance.choice((0, 1, 1))):
        for _ in range(100):
            keep_ones = chance.random() < 0.8
            other = [size if size == 1 and keep_ones else _size(chance, rank, keep_ones) for size in first]
            if _product(other) <= most:
                calls.append(other)
                break
    return calls


def _size(chance, rank, above_one=False):
    draw = chance.random()
    if not above_one and draw < 0.08:
        return 1
    if not above_one and draw < 0.085:
        return 0
    return chance.choice(LARGE) if draw > (0.6, 0.6, 0.8, 0.93, 0.97, 0.99)[rank] else chance.choice(SIZES)


def _product(numbers):
    product = 1
    for number in numbers:
        product *= max(number, 1)
    return product


class TensorInput:
    """A tensor argument: which of the program's dimensions it has, and how it lies in memory."""

    def __init__(self, chance, rank, dtype, whole):
        self.dtype = dtype
        self.whole = whole
        dropped = 0 if whole else chance.choice((0, 0, chance.randint(0, rank)))
        self.has = [whole or chance.random() < 0.7 for _ in range(rank - dropped)]
        layouts = ["dense"] * 15 + [layout for layout in LAYOUTS[1:] if layout != "channels last" or len(self.has) == 4]
        if len(self.has) == 4:
            layouts += ["channels last"] * 12
        self.layout = chance.choice(layouts)
        self.order = chance.sample(range(len(self.has)), len(self.has))
        self.scale = chance.choice((1, 1, 1, 3, 10, 0.1))
        self.special = chance.random() < 0.15

    def make(self, sizes, generator, chance):
        shape = [size if has else 1 for size, has in zip(sizes[len(sizes) - len(self.has) :], self.has)]
        if self.layout == "sliced" and shape:
            return self._values([*shape[:-1], shape[-1] + 3], generator, chance)[..., 2:-1]
        if self.layout == "strided" and shape:
            return self._values([*shape[:-1], shape[-1] * 2], generator, chance)[..., ::2]
        if self.layout == "expanded" and shape:
            expanded = self.order[0]
            return self._values([1 if i == expanded else size for i, size in enumerate(shape)], generator, chance).expand(shape)
        if self.layout == "permuted" and shape:
            inverse = [self.order.index(i) for i in range(len(shape))]
            return self._values([shape[i] for i in self.order], generator, chance).permute(inverse)
        values = self._values(shape, generator, chance)
        return values.contiguous(memory_format=torch.channels_last) if self.layout == "channels last" else values

    def _values(self, shape, generator, chance):
        dtype = self.dtype
        if dtype == torch.bool:
            return torch.rand(shape, generator=generator) < 0.5
        if not dtype.is_floating_point:
            low, high = (0, 12) if dtype == torch.uint8 else (-9, 10)
            values = torch.randint(low, high, shape, generator=generator, dtype=dtype)
            limits = torch.iinfo(dtype)
            return self._mixed(values, [limits.max, limits.min + 1, 100, 0], generator) if self.special else values
        values = (torch.randn(shape, generator=generator, dtype=torch.float64) * self.scale).to(dtype)
        if not self.special:
            return values
        info = torch.finfo(dtype)
        special = [float("nan"), float("inf"), -float("inf"), -0.0, 0.0, info.max, -info.max, info.smallest_normal,
                   info.smallest_normal / 4, -info.smallest_normal / 8, 0.5, -1.5, 2.5, 1.0, -1.0, 1e4, 88.7, -87.5, 1e-3]  # fmt: skip
        return self._mixed(values, chance.sample(special, 5), generator)

    @staticmethod
    def _mixed(values, special, generator):
        chosen = torch.tensor(special, dtype=torch.float64).to(values.dtype) if values.is_floating_point() else torch.tensor(special, dtype=values.dtype)
        places = torch.randint(0, len(special), values.shape, generator=generator)
        return torch.where(torch.rand(values.shape, generator=generator) < 0.2, chosen[places], values)


def number(chance, kind):
    if kind == "int":
        return chance.choice((0, 1, 2, 3, 5, -1, -2, -7, 100))
    return chance.choice((0.5, 2.0, -1.5, 0.1, 3.0, -0.3, 0.0, 1.0, 7.25, 1e-3, 100.0, -2.0, 0.7))
