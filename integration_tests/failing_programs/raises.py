"""Every kind of raise and assert."""

from typing import Optional

from torch import Tensor, nn

from integration_tests.failing_programs.registry import program


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
