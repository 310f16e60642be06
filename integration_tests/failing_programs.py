"""Programs that fail: each is a module whose call raises, in one of the ways in which TorchScript code can.

torch.jit forgets the callers of an inlined node that has no results, a raise above all, and calls the function that is
left `forward`. It also takes the hook of a child from the child's class where the archive has it twice. Programs in
which that happens say in `calls` which functions are under way, for each report (one in another where a fork fails)."""

from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

PROGRAMS = {}  # name -> (module class, arguments, calls or None)


def program(*arguments, calls=None):
    def keep(cls):
        PROGRAMS[cls.__name__] = (cls, arguments, calls)
        return cls

    return keep


# ---- who called whom


def checked(x: Tensor) -> Tensor:
    if x.numel() > 1:
        raise ValueError("one element is enough")
    return x


def twice_checked(x: Tensor) -> Tensor:
    y = x + 1
    return checked(y) + checked(x)


@program(torch.ones(3))
class Direct(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.numel() > 1:
            raise ValueError("one element is enough")
        return x


@program(torch.ones(3), calls=[["forward", "twice_checked", "checked"]])
class ThroughFunctions(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        z = twice_checked(x)
        return z


class Inner(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.matmul(
            x,
            torch.ones(2, 3),
        )


class Middle(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def helper(self, x: Tensor) -> Tensor:
        return self.inner(x) * 2

    def forward(self, x: Tensor) -> Tensor:
        return self.helper(x) + 1


@program(torch.ones(3))
class ThroughSubmodules(nn.Module):
    def __init__(self):
        super().__init__()
        self.middle = Middle()

    def forward(self, x: Tensor) -> Tensor:
        return self.middle(x)


def multiplied(x: Tensor) -> Tensor:
    return torch.matmul(x, torch.ones(2, 3))


def twice_multiplied(x: Tensor) -> Tensor:
    y = multiplied(x + 1)
    return y + multiplied(x)


@program(torch.ones(3))
class OperatorThroughFunctions(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return twice_multiplied(x)


@program(torch.ones(3))
class ThroughSequential(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.ReLU(), nn.Linear(2, 2))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


@program(torch.ones(3), 4)
class InALoop(nn.Module):
    def forward(self, x: Tensor, n: int) -> Tensor:
        for i in range(n):
            if i == 2:
                x = x[i + 1]
            else:
                x = x + i
        return x


@torch.jit.script
class Account:
    def __init__(self, balance: int):
        self.balance = balance

    def take(self, amount: int) -> int:
        assert amount <= self.balance, "not enough"
        self.balance -= amount
        return self.balance


@program(5, calls=[["forward", "take"]])
class InAMethodOfAClass(nn.Module):
    def forward(self, n: int) -> int:
        account = Account(3)
        account.take(1)
        return account.take(n)


@torch.jit.script
class Refuses:
    def __init__(self, n: int):
        if n > 1:
            raise ValueError("too many: {}".format(n))
        self.n = n


@program(5, calls=[["forward", "__init__"]])
class InAConstructor(nn.Module):
    def forward(self, n: int) -> int:
        return Refuses(n).n


@torch.jit.interface
class Operation(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


@program(torch.ones(3))
class ThroughAnInterface(nn.Module):
    operation: Operation

    def __init__(self):
        super().__init__()
        self.operation = Inner()

    def forward(self, x: Tensor) -> Tensor:
        return self.operation.forward(x)


@torch.jit.script
class Ignored:
    def __init__(self):
        self.entered = 0

    def __enter__(self):
        self.entered += 1

    def __exit__(self, type: Any, value: Any, traceback: Any):
        self.entered -= 1


@program(torch.ones(3), calls=[["forward", "checked"]])
class InAContext(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with Ignored():
            y = checked(x)
        return y


def pre_hook(self, input: Tuple[Tensor]) -> Tuple[Tensor]:
    if input[0].numel() > 2:
        raise ValueError("the hook refuses")
    return input


def post_hook(self, input: Tuple[Tensor], output: Tensor) -> Tensor:
    return torch.matmul(output, torch.ones(2, 3))


class Passes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Hooked(nn.Module):
    def __init__(self, pre: bool):
        super().__init__()
        self.child = Passes()
        if pre:
            self.child.register_forward_pre_hook(pre_hook)
        else:
            self.child.register_forward_hook(post_hook)

    def forward(self, x: Tensor) -> Tensor:
        return self.child(x)


@program(torch.ones(3), calls=[["forward", "pre_hook"]])
class InAPreHook(Hooked):
    def __init__(self):
        super().__init__(True)


@program(torch.ones(3), calls=[["forward", "post_hook"]])
class InAHook(Hooked):
    def __init__(self):
        super().__init__(False)


def forked(x: Tensor) -> Tensor:
    return checked(x)


@program(torch.ones(3), calls=[["forward"], ["<forked function>", "forked", "checked"]])
class InAFork(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        future = torch.jit.fork(forked, x)
        y = x + 1
        return torch.jit.wait(future) + y


def forks_again(x: Tensor) -> Tensor:
    return torch.jit.wait(torch.jit.fork(forked, x))


@program(torch.ones(3), calls=[["forward"], ["<forked function>", "forks_again"], ["<forked function>", "forked", "checked"]])
class InAForkOfAFork(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.jit.wait(torch.jit.fork(forks_again, x))


def multiplies_in_a_fork(x: Tensor) -> Tensor:
    return torch.jit.wait(torch.jit.fork(multiplied, x))


@program(torch.ones(3))
class OperatorInAForkOfAFork(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.jit.wait(torch.jit.fork(multiplies_in_a_fork, x))


@program(torch.ones(3))
class OperatorInAFork(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x: Tensor) -> Tensor:
        future = torch.jit.fork(self.inner, x)
        return torch.jit.wait(future)


# ---- raise and assert


@program("odd")
class RaisesRuntimeError(nn.Module):
    def forward(self, message: str) -> str:
        if len(message) > 0:
            raise RuntimeError(message)
        return message


@program("odd")
class RaisesValueError(nn.Module):
    def forward(self, message: str) -> str:
        if len(message) > 0:
            raise ValueError("it is " + message)
        return message


@program("odd")
class RaisesTypeError(nn.Module):
    def forward(self, message: str) -> str:
        if len(message) > 0:
            raise TypeError(f"it is {message}")
        return message


@program("odd")
class RaisesIndexError(nn.Module):
    def forward(self, message: str) -> str:
        if len(message) > 0:
            raise IndexError("it is %s" % message)
        return message


@program("odd")
class RaisesKeyError(nn.Module):
    def forward(self, message: str) -> str:
        if len(message) > 0:
            raise KeyError(message)
        return message


@program("odd")
class RaisesNotImplementedError(nn.Module):
    def forward(self, message: str) -> str:
        if len(message) > 0:
            raise NotImplementedError(message)
        return message


@program("odd")
class RaisesException(nn.Module):
    def forward(self, message: str) -> str:
        if len(message) > 0:
            raise Exception(message)
        return message


@program("odd")
class RaisesABareClass(nn.Module):
    def forward(self, message: str) -> str:
        if len(message) > 0:
            raise ValueError
        return message


@program("odd")
class RaisesWithoutAMessage(nn.Module):
    def forward(self, message: str) -> str:
        if len(message) > 0:
            raise ValueError()
        return message


@program("odd")
class RaisesLines(nn.Module):
    def forward(self, message: str) -> str:
        if len(message) > 0:
            raise ValueError("first\nsecond: " + message + "\n")
        return message


class TooOdd(Exception):
    pass


class FarTooOdd(TooOdd):
    pass


@program("odd")
class RaisesAClassOfItsOwn(nn.Module):
    def forward(self, message: str) -> str:
        if len(message) > 0:
            raise TooOdd(message)
        return message


@program("odd")
class RaisesADerivedClass(nn.Module):
    def forward(self, message: str) -> str:
        if len(message) > 0:
            raise FarTooOdd(message)
        return message


@program(3)
class AssertsWithAMessage(nn.Module):
    def forward(self, n: int) -> int:
        assert n % 2 == 0, "n is odd"
        return n


@program(3)
class AssertsWithAComputedMessage(nn.Module):
    def forward(self, n: int) -> int:
        assert n % 2 == 0, f"{n} is odd"
        return n


@program(3)
class AssertsWithoutAMessage(nn.Module):
    def forward(self, n: int) -> int:
        assert n % 2 == 0
        return n


@program(None)
class AssertsThatItIsThere(nn.Module):
    def forward(self, x: Optional[Tensor]) -> Tensor:
        assert x is not None
        return x


# ---- operators


@program(torch.ones(2, 3), torch.ones(4))
class ShapesThatDoNotFit(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        c = a * 2
        return c + b


@program(torch.ones(3))
class IndexOutOfRange(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[5]


@program(torch.ones(3), torch.tensor([7]))
class IndexTensorOutOfRange(nn.Module):
    def forward(self, x: Tensor, i: Tensor) -> Tensor:
        return x[i]


@program(torch.ones(3))
class DimensionOutOfRange(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x, 4)


@program(torch.ones(2, 2, dtype=torch.int64))
class NotImplementedForADtype(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.linalg.inv(x)


@program(torch.ones(3).to_sparse())
class NotImplementedForALayout(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cumsum(x, 0)


@program(torch.ones(2))
class BoolOfMany(nn.Module):
    def forward(self, x: Tensor) -> int:
        if x:
            return 1
        return 2


@program(torch.ones(2))
class ItemOfMany(nn.Module):
    def forward(self, x: Tensor) -> float:
        return x.item()


@program(torch.ones(1, 3, 8, 8))
class ConvolutionOfWrongChannels(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 2, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)


@program(torch.tensor([9]))
class EmbeddingOutOfRange(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.embedding(x)


@program(torch.ones(3))
class ViewThatDoesNotFit(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.view(2, 2)


@program(torch.ones(2, 2), [torch.ones(2, 2), torch.ones(3)])
class ConcatenationThatDoesNotFit(nn.Module):
    def forward(self, x: Tensor, more: List[Tensor]) -> Tensor:
        return torch.cat([x] + more)


# ---- lists, dicts, strings, numbers


@program([1, 2])
class ListIndex(nn.Module):
    def forward(self, xs: List[int]) -> int:
        return xs[2]


@program([1, 2])
class ListAssignment(nn.Module):
    def forward(self, xs: List[int]) -> List[int]:
        xs[-3] = 1
        return xs


@program([1, 2])
class ListPop(nn.Module):
    def forward(self, xs: List[int]) -> int:
        xs.pop()
        xs.pop()
        return xs.pop()


@program([1, 2])
class ListRemove(nn.Module):
    def forward(self, xs: List[int]) -> List[int]:
        xs.remove(7)
        return xs


@program([1, 2])
class ListIndexOf(nn.Module):
    def forward(self, xs: List[int]) -> int:
        return xs.index(7)


@program([1, 2], calls=[["forward"]])
class UnpacksTooMany(nn.Module):
    def forward(self, xs: List[int]) -> int:
        a, b, c = xs
        return a + b + c


@program({"a": 1})
class DictKey(nn.Module):
    def forward(self, d: Dict[str, int]) -> int:
        return d["b"]


@program({"a": 1})
class DictDelete(nn.Module):
    def forward(self, d: Dict[str, int]) -> Dict[str, int]:
        del d["b"]
        return d


@program({"a": 1})
class DictPop(nn.Module):
    def forward(self, d: Dict[str, int]) -> int:
        return d.pop("b")


@program("abc")
class StringIndex(nn.Module):
    def forward(self, s: str) -> str:
        return s[3]


@program("abc")
class StringToInt(nn.Module):
    def forward(self, s: str) -> int:
        return int(s)


@program("abc")
class StringToFloat(nn.Module):
    def forward(self, s: str) -> float:
        return float(s)


@program("abc")
class StringIndexOf(nn.Module):
    def forward(self, s: str) -> int:
        return s.index("z")


@program("abc")
class FormatOfTooFew(nn.Module):
    def forward(self, s: str) -> str:
        return "{} {}".format(s)


@program(0)
class FloorDivisionByZero(nn.Module):
    def forward(self, n: int) -> int:
        return 1 // n


@program(None)
class UnwrapsNone(nn.Module):
    def forward(self, x: Optional[int]) -> int:
        return torch.jit._unwrap_optional(x) + 1


@program(5.5)
class IsinstanceOfTheOther(nn.Module):
    def forward(self, x: float) -> int:
        y: Optional[int] = None
        if x > 10.0:
            y = 1
        assert isinstance(y, int)
        return y
