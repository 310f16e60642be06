from typing import Dict, List

import torch
import torch.nn as nn

from . import call, program


@program(call(0), call(1), call(10), call(-3))
class SumOfRange(nn.Module):
    def forward(self, n: int) -> int:
        total = 0
        for i in range(n):
            total += i
        return total


@program(call(1, 10, 3), call(10, 1, -2), call(5, 5, 1), call(0, 4, 0))
class RangeWithStep(nn.Module):
    def forward(self, start: int, stop: int, step: int) -> List[int]:
        out: List[int] = []
        for i in range(start, stop, step):
            out.append(i)
        return out


@program(call(27), call(1), call(97))
class Collatz(nn.Module):
    def forward(self, n: int) -> int:
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps


@program(call(3), call(20), call(0))
class BreakAndContinue(nn.Module):
    def forward(self, n: int) -> List[int]:
        out: List[int] = []
        for i in range(n):
            if i % 3 == 0:
                continue
            if i > 11:
                break
            out.append(i)
        return out


@program(call(2), call(5), call(100))
class ReturnFromInnerLoop(nn.Module):
    def forward(self, wanted: int) -> int:
        for i in range(10):
            for j in range(10):
                if i * j == wanted * 2:
                    return i * 100 + j
        return -1


@program(call(torch.arange(12.0).reshape(3, 4)), call(torch.zeros(0, 4)))
class OverTensorRows(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(4)
        for row in x:
            total = total + row * row
        return total


@program(call([1, 2, 3], ["a", "b", "c"]), call([], []), call([1, 2], ["x"]))
class ZipAndEnumerate(nn.Module):
    def forward(self, numbers: List[int], words: List[str]) -> List[str]:
        out: List[str] = []
        for i, (number, word) in enumerate(zip(numbers, words)):
            out.append(word + str(number) + str(i))
        return out


@program(call(5), call(1))
class CarriesManyValues(nn.Module):
    def forward(self, n: int):
        a, b, c = 0, 1, 1.5
        name = "s"
        x = torch.ones(2)
        for i in range(n):
            a, b = b, a + b
            c = c * 2 - a
            name = name + str(a)
            x = x + b
        return a, b, c, name, x


@program(call(4))
class AppendsWhileIterating(nn.Module):
    def forward(self, n: int) -> List[int]:
        values = [1, 2]
        for v in values:
            if len(values) < n:
                values.append(v * 10)
        return values


@program(call([3, 1, 2]), call([]), call([5, 4, 3, 2, 1, 0]))
class BubbleSort(nn.Module):
    def forward(self, values: List[int]) -> List[int]:
        n = len(values)
        for i in range(n):
            swapped = False
            for j in range(n - i - 1):
                if values[j] > values[j + 1]:
                    values[j], values[j + 1] = values[j + 1], values[j]
                    swapped = True
            if not swapped:
                break
        return values


@program(call(30))
class Sieve(nn.Module):
    def forward(self, n: int) -> List[int]:
        composite = [False] * (n + 1)
        primes: List[int] = []
        for i in range(2, n + 1):
            if composite[i]:
                continue
            primes.append(i)
            j = i * i
            while j <= n:
                composite[j] = True
                j += i
        return primes


@program(call(["a", "b", "a", "c", "a"]), call([]))
class CountsWords(nn.Module):
    def forward(self, words: List[str]) -> Dict[str, int]:
        counts: Dict[str, int] = {}
        for word in words:
            counts[word] = counts.get(word, 0) + 1
        return counts


@program(call(torch.tensor(0.5)), call(torch.tensor(100.0)))
class WhileOnTensor(nn.Module):
    def forward(self, x: torch.Tensor):
        n = 0
        while x < 50 and n < 20:
            x = x * 2
            n += 1
        return x, n


@program(call(6))
class ComprehensionsNested(nn.Module):
    def forward(self, n: int):
        rows = [[i * j for j in range(3)] for i in range(n)]
        squares = {i: i * i for i in range(n)}
        total = sum([sum(row) for row in rows])
        return rows, squares, total


@program(call(3), call(0))
class LoopVariableAfterLoop(nn.Module):
    def forward(self, n: int) -> int:
        i = -7
        for i in range(n):
            pass
        return i


@program(call(torch.arange(4.0)), call(torch.arange(3.0)))
class UnrolledOverModules(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)])

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        return x


@program(call(50))
class FibonacciRecursionByStack(nn.Module):
    def forward(self, n: int) -> int:
        stack = [n % 15]
        total = 0
        while len(stack) > 0:
            top = stack.pop()
            if top < 2:
                total += top
            else:
                stack.append(top - 1)
                stack.append(top - 2)
        return total
