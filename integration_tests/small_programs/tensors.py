from typing import List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F

from . import call, program


@program(call(torch.arange(12.0).reshape(3, 4)))
class Indexing(nn.Module):
    def forward(self, x):
        mask = x > 4
        rows = torch.tensor([2, 0])
        return x[0], x[-1, 1:], x[:, ::2], x[..., 1], x[None, 1], x[mask], x[rows], x[rows, 1], x[1:2, rows], x[:, None, 0]


@program(call(torch.arange(12.0).reshape(3, 4)))
class IndexAssignment(nn.Module):
    def forward(self, x):
        x[0] = 5
        x[1, 1:3] = torch.tensor([7.0, 8.0])
        x[x > 9] = -1
        x[torch.tensor([2])] += 100
        x[:, 3] *= 2
        x[..., 0] = x[..., 1]
        return x


@program(call(torch.zeros(4)), call(torch.ones(4)))
class InPlaceOnViews(nn.Module):
    def forward(self, x):
        view = x[1:3]
        view.add_(1)
        view[0] = 9
        t = x.view(2, 2).t()
        t.mul_(2)
        alias = x
        alias.sub_(0.5)
        copy = x.clone()
        copy.zero_()
        return x, view, t, copy


@program(call(torch.zeros(2)))
class WritesInTheMiddle(nn.Module):
    def forward(self, x):
        before = x + 0
        y = x.add_(1)
        during = x * 1
        y.add_(1)
        return before, during, x, y


@program(call(torch.zeros(3)))
class InPlaceInLoopAndBranch(nn.Module):
    def forward(self, x):
        y = x
        for i in range(3):
            if i % 2 == 0:
                y = y.clone()
            y[i] = float(i + 1)
        return x, y


@program(call(torch.ones(2, 3, 4)))
class Shapes(nn.Module):
    def forward(self, x):
        a, b, c = x.shape
        n = x.size(0) * x.size(-1)
        return (
            x.shape, x.dim(), x.numel(), x.size(), a + b + c, x.view(a, -1).shape, x.permute(2, 0, 1).shape,
            x.reshape([n, 3]).shape, x.transpose(0, 1).contiguous().stride(), x.flatten(1).shape, len(x), x.ndim,
        )


@program(call(torch.ones(2, dtype=torch.float64)), call(torch.ones(2, dtype=torch.int32)))
class DtypesAndDevices(nn.Module):
    def forward(self, x):
        y = torch.zeros(2, dtype=x.dtype, device=x.device)
        z = x.to(torch.float16).float()
        w = x.to("cpu", dtype=torch.long)
        same = x.dtype == torch.float64
        device = torch.device("cpu")
        return y, z, w, same, x.device == device, x.is_cuda, x.device.type, x.is_floating_point(), x.type_as(z), x.to(y)


@program(call(3), call(0))
class Constructors(nn.Module):
    def forward(self, n: int):
        return (
            torch.zeros(n, 2), torch.ones([n]), torch.full((2,), n), torch.full((2,), 1.5), torch.arange(n),
            torch.arange(0, n, 2, dtype=torch.float32), torch.eye(n), torch.linspace(0, 1, 5), torch.empty(0),
            torch.zeros_like(torch.ones(2)), torch.tensor([n, 1]), torch.tensor(n), torch.full((1,), True),
            torch.ones(n, dtype=torch.bool), torch.scalar_tensor(n),
        )


@program(call(torch.tensor([[3.0, 1.0], [2.0, 5.0]])))
class MultipleResults(nn.Module):
    def forward(self, x):
        values, indices = torch.max(x, 1)
        s, i = x.sort(dim=0, descending=True)
        top = torch.topk(x, 1)
        a, b = x.chunk(2)
        parts = torch.split(x, 1, dim=1)
        q = x.unbind(1)
        return values, indices, s, i, top[0], top[1], a, b, parts, q, x.aminmax()[1]


@program(call(torch.tensor([1.5, -2.0, 0.0])))
class Elementwise(nn.Module):
    def forward(self, x):
        return (
            x.relu(), torch.sigmoid(x), x.clamp(-1, 1), x.clamp(min=0), x.abs().sqrt(), x.exp(), F.gelu(x), F.silu(x),
            F.leaky_relu(x, 0.2), torch.where(x > 0, x, -x), x.masked_fill(x < 0, 7.0), x.sign(), x.floor(), x.round(),
            F.softplus(x), F.elu(x), torch.maximum(x, -x), x.pow(2), 2**x, x % 2, x // 0.7, -x, ~(x > 0), (x > 0) & (x < 2),
        )


@program(call(torch.arange(24.0).reshape(2, 3, 4)))
class ReductionsOverAxes(nn.Module):
    def forward(self, x):
        return (
            x.sum(), x.sum(0), x.sum([0, 1]), x.mean(-1, keepdim=True), x.std(), x.var(1), x.prod(2), x.max(), x.argmax(),
            x.argmin(1), x.norm(), x.cumsum(0), x.all(), x.any(1), x.logsumexp(2), x.softmax(-1), x.median(), x.amax((0, 2)),
        )


@program(call(torch.ones(2, 3), torch.ones(3, 4)))
class Products(nn.Module):
    def forward(self, a, b):
        return a @ b, torch.mm(a, b), torch.einsum("ij,jk->ki", [a, b]), torch.einsum("ij,jk", a, b), a.matmul(b).t(), torch.outer(a[0], b[0]), F.linear(a, b.t()), torch.tensordot(a, b, dims=1)


@program(call([torch.ones(2), torch.zeros(3)]))
class PadsAList(nn.Module):
    def forward(self, xs: List[torch.Tensor]):
        longest = max([x.shape[0] for x in xs])
        out = torch.zeros(len(xs), longest)
        for i, x in enumerate(xs):
            out[i, : x.shape[0]] = x + i
        return out, nn.utils.rnn.pad_sequence(xs, batch_first=True)


@program(call(torch.tensor([4, 2, 2, 9])))
class DataDependentSizes(nn.Module):
    def forward(self, x):
        values, counts = torch.unique(x, return_counts=True)
        nonzero = torch.nonzero(x > 2)
        picked = torch.masked_select(x, x > 2)
        return values, counts, nonzero, picked, x.bincount(), picked.numel()


@program(call(torch.tensor([1 + 2j, 3 - 1j])))
class ComplexTensors(nn.Module):
    def forward(self, z):
        return z.conj(), z.real, z.imag, z.abs(), z * 2j, torch.view_as_real(z), torch.complex(z.real, z.imag), z.conj().imag


@program(call(torch.ones(3, requires_grad=True)), call(torch.ones(3)))
class Gradients(nn.Module):
    def forward(self, x):
        y = x.detach().requires_grad_(True)
        z = (y * y * y).sum()
        with torch.no_grad():
            w = y * 2
        return z, w.requires_grad, torch.is_grad_enabled()


@program(call(torch.ones(3)))
class Autocasts(nn.Module):
    def forward(self, x):
        w = torch.ones(3, 3)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = torch.mm(w, w)
            with torch.autocast("cpu", enabled=False):
                z = torch.mm(w, w)
        return y, z, torch.mm(w, w)


@program(call(torch.ones(2)))
class ProfilerRange(nn.Module):
    def forward(self, x):
        with torch.autograd.profiler.record_function("block"):
            y = x + 1
        return y


@program(call(torch.ones(2), 3), call(torch.ones(2), -3))
class PrintsAndWarns(nn.Module):
    def forward(self, x, n: int):
        if n < -100:
            print("never", x)
        return x * n


@program(call(torch.arange(6.0)), call(torch.arange(4.0)))
class OptionalShapesAndSlices(nn.Module):
    def forward(self, x: torch.Tensor, start: Optional[int] = None):
        end = x.shape[0] if start is None else start
        pair: Tuple[int, int] = (end // 2, 2)
        return x[:end][pair[0] :], x.reshape(pair), x[torch.tensor(1)], x.narrow(0, 1, 2), x.roll(1), x.flip(0)


@program(call(torch.ones(2, dtype=torch.bfloat16)), call(torch.ones(2, dtype=torch.uint8)), call(torch.tensor([True])))
class EveryDtypePasses(nn.Module):
    def forward(self, x):
        return x, x.to(torch.float32) + 1, x.dtype == torch.uint8


@program(call(torch.eye(3).to_sparse()))
class SparseTensors(nn.Module):
    def forward(self, x):
        return torch.sparse.mm(x, torch.ones(3, 2)), x.to_dense()
