from typing import Dict, List, Optional, Tuple

import torch
import torch.nn as nn

from . import call, program


@program(call([1, 2, 3]), call([]))
class ListMethods(nn.Module):
    def forward(self, values: List[int]):
        values.append(10)
        values.insert(0, 20)
        values.extend([5, 5])
        values.remove(5)
        popped = values.pop()
        first = values.pop(0)
        values.reverse()
        copied = values.copy()
        copied.sort()
        return values, copied, popped, first, values.count(5), values.index(10), len(values)


@program(call([3, 1, 2], 1), call([], 0), call([1], -1), call([1], 1))
class ListIndex(nn.Module):
    def forward(self, values: List[int], i: int) -> int:
        return values[i]


@program(call([0, 1, 2, 3, 4, 5], 2, 5), call([0, 1, 2], -2, 100), call([0, 1, 2], 2, 1))
class ListSlices(nn.Module):
    def forward(self, v: List[int], a: int, b: int):
        return v[a:b], v[a:], v[:b], v[::2], v[:], v[a:b:2], v + v[:1], v * 2


@program(call([1, 2]), call([5]))
class RemoveMissing(nn.Module):
    def forward(self, values: List[int]) -> List[int]:
        values.remove(5)
        return values


@program(call([]), call([1]))
class PopFromEmpty(nn.Module):
    def forward(self, values: List[int]) -> int:
        return values.pop()


@program(call([3, 1, 2], [2.5, -1.0], ["b", "a"]))
class SortsAndCompares(nn.Module):
    def forward(self, a: List[int], b: List[float], c: List[str]):
        d = sorted(a)
        b.sort(reverse=True)
        e = sorted(c)
        a.sort()
        return a, b, c, d, e, a == d, c == e, a != d


@program(call([1, 2, 3, 4]))
class DeletesAndAssignsInLists(nn.Module):
    def forward(self, v: List[int]) -> List[int]:
        del v[0]
        v[-1] = 40
        v[0] += 5
        return v


@program(call(3))
class AliasedLists(nn.Module):
    def forward(self, n: int):
        a = [1, 2]
        b = a
        c = a[:]
        b.append(n)
        nested = [a, a]
        nested[0].append(9)
        return a, b, c, nested


@program(call({"a": 1, "b": 2}), call({}))
class DictMethods(nn.Module):
    def forward(self, d: Dict[str, int]):
        d["z"] = 26
        d.update({"a": 100, "y": 25})
        got = d.get("a")
        missing = d.get("nope")
        default = d.get("nope", -1)
        stored = d.setdefault("s", 7)
        popped = d.pop("z")
        keys = list(d.keys())
        values = list(d.values())
        items = list(d.items())
        return d, got, missing, default, stored, popped, keys, values, items, len(d), "a" in d


@program(call({"a": 1}, "a"), call({"a": 1}, "zz"))
class MissingKey(nn.Module):
    def forward(self, d: Dict[str, int], key: str) -> int:
        return d[key]


@program(call({1: "x", 2: "y"}), call({5: ""}))
class IntKeysAndLoops(nn.Module):
    def forward(self, d: Dict[int, str]):
        total = 0
        text = ""
        for key in d:
            total += key
        for k, v in d.items():
            text += str(k) + v
        del d[5]
        return total, text, d


@program(call({1.5: 2, 0.0: 3}), call({}))
class FloatKeys(nn.Module):
    def forward(self, d: Dict[float, int]) -> Dict[float, int]:
        d[2.0] = 4
        d.pop(1.5, 0)
        return d


@program(call())
class DictOrder(nn.Module):
    def forward(self):
        d = {"c": 1, "a": 2, "b": 3}
        d["a"] = 20
        d.pop("c")
        d["c"] = 10
        first = d.popitem()
        e = dict([("k", 1), ("l", 2)])
        copied = d.copy()
        copied.clear()
        return d, first, e, copied


@program(call(2))
class NestedContainers(nn.Module):
    def forward(self, n: int):
        table: Dict[str, List[Tuple[int, Optional[str]]]] = {}
        for i in range(n):
            table["k" + str(i)] = [(i, None), (i + 1, "v")]
        lists: List[List[List[int]]] = [[[n]], [[n]]]
        lists[1].append([n, n])
        maps: List[Dict[int, torch.Tensor]] = [{n: torch.ones(n)}]
        return table, lists, maps


@program(call((1, "a", torch.ones(1))))
class Tuples(nn.Module):
    def forward(self, t: Tuple[int, str, torch.Tensor]):
        a, b, c = t
        u = t + (a,)
        return t[0], t[-1], t[:2], u, len(t), (a, (b, (c,)))


@program(call([1, 2, 3]), call([1, 2]), call([1, 2, 3, 4]))
class UnpacksAList(nn.Module):
    def forward(self, values: List[int]):
        a, b, c = values
        return a + b * c


@program(call((1, 2, 3), 1), call((1, 2, 3), -1), call((1, 2, 3), 3))
class TupleIndexedByVariable(nn.Module):
    def forward(self, t: Tuple[int, int, int], i: int) -> int:
        return t[i]


@program(call([torch.ones(2), torch.zeros(2)]), call([]))
class ListOfTensors(nn.Module):
    def forward(self, xs: List[torch.Tensor]):
        xs.append(torch.full([2], 3.0))
        return torch.stack(xs), torch.cat(xs), xs, len(xs)


@program(call({"x": torch.ones(2), "y": torch.ones(2)}))
class DictOfTensors(nn.Module):
    def forward(self, d: Dict[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
        d["sum"] = d["x"] + d["y"]
        d["x"].add_(1)
        return d


@program(call())
class EmptyContainers(nn.Module):
    def forward(self):
        a: List[int] = []
        b: Dict[str, torch.Tensor] = {}
        c: List[Tuple[int, str]] = []
        d = torch.jit.annotate(List[Optional[int]], [])
        return a, b, c, d, []


@program(call([1, None, 3]), call([None]))
class ListOfOptional(nn.Module):
    def forward(self, values: List[Optional[int]]) -> List[int]:
        out: List[int] = []
        for v in values:
            if v is not None:
                out.append(v)
        return out


@program(call([[1.5, 2.0], [3.0]]))
class TensorFromLists(nn.Module):
    def forward(self, rows: List[List[float]]):
        a = torch.tensor([[1, 2], [3, 4]])
        b = torch.tensor(rows[0])
        c = torch.tensor(rows[:1], dtype=torch.float64)
        return a, b, c, torch.tensor(5), torch.tensor([True, False])


@program(call(torch.arange(6).reshape(2, 3)))
class TensorToLists(nn.Module):
    def forward(self, x: torch.Tensor):
        rows: List[List[int]] = x.tolist()
        row: List[int] = x[0].tolist()
        one: int = x[0][0].tolist()
        return rows, row, one


@program(call(torch.arange(6).reshape(2, 3)))
class WrongRankForToList(nn.Module):
    def forward(self, x: torch.Tensor):
        rows: List[int] = x.tolist()
        return rows
