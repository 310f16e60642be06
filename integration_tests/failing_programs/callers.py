"""Who called whom: functions, modules, classes, interfaces, hooks."""

from typing import Any, Tuple

import torch
from torch import Tensor, nn

from integration_tests.failing_programs.registry import program


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
