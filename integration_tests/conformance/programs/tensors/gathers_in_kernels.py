"""Elements that are picked by ids, followed by arithmetic that a kernel may read them in: of weights in every dtype that
kernels have, by ids of any rank, dtype and strides. Those that are out of range are in gathers_out_of_range."""

import torch


def embedded(words: torch.Tensor, kinds: torch.Tensor, places: torch.Tensor, ids: torch.Tensor, kind: torch.Tensor):
    x = torch.embedding(words, ids) + torch.embedding(kinds, kind) + places
    return torch.layer_norm(x, [24]), x


def summed(words: torch.Tensor, ids: torch.Tensor):
    return torch.embedding(words, ids).float() * 2 + 1


def indexed(x: torch.Tensor, ids: torch.Tensor):
    return torch.relu(x[ids]) - 1, x[:, ids] * 2, torch.neg(x[:, :, ids])


def selected(x: torch.Tensor, ids: torch.Tensor):
    first, second, last = torch.index_select(x, 0, ids), torch.index_select(x, 1, ids), torch.index_select(x, -1, ids)
    return first * first, second + second, torch.exp(last) + 1


def gathered(x: torch.Tensor, ids: torch.Tensor):
    return torch.gather(x, 1, ids) * 2 + 1, torch.relu(torch.gather(x, -1, ids)) + 1


def taken(x: torch.Tensor, ids: torch.Tensor):
    return torch.take_along_dim(x, ids, 1) * 2, torch.take_along_dim(x, ids, -1) + x.sum()


def of_parts(x: torch.Tensor, ids: torch.Tensor):
    rows = torch.embedding(x[0, 1:], ids.t()) + torch.embedding(x[1, :, ::2].contiguous()[:, :10].repeat(1, 2), ids.t()[:, :1])
    columns = torch.relu(x[:, 2:, 3:][:, ids[1]]) * 2
    expanded = ids[0].view(-1, 1).expand(ids.shape[1], 20)
    return rows, columns, torch.gather(x[2], 0, expanded) + torch.take_along_dim(x[3].t(), expanded, 0)


def along_all(x: torch.Tensor, ids: torch.Tensor):
    return torch.take_along_dim(x, ids) + 1


def written(x: torch.Tensor, ids: torch.Tensor):
    y = torch.embedding(x, ids) * 2
    x.add_(1)
    ids.zero_()
    return y + torch.embedding(x, ids), x


torch.manual_seed(0)
_words, _kinds, _places = torch.randn(50, 24), torch.randn(2, 24), torch.randn(1, 1, 24)
_ids = torch.randint(50, (3, 7))
_square = torch.randint(20, (20, 20, 20))


def _in_every_dtype(x):
    return [x.to(dtype) for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16)]


_cube = torch.randn(20, 20, 20)
_few = torch.tensor([3, 19, 0, 7, 7])
calls = {
    "embedded": [(words, kinds, places, _ids, _ids % 2)
                 for words, kinds, places in zip(*map(_in_every_dtype, (_words, _kinds, _places)))]
    + [(_words, _kinds, _places, ids, ids % 2) for ids in (
        torch.randint(50, (3, 11)), torch.randint(50, (1, 1)), torch.randint(50, (2, 1)), torch.randint(50, (7, 3)).t(),
        torch.randint(50, (2, 3, 4)), torch.randint(50, (2, 3, 4, 5)), _ids.int(), torch.empty(0, 4, dtype=torch.long))]
    + [(_words[::2], _kinds, _places, _ids % 25, _ids % 2), (_words[:1], _kinds, _places, _ids * 0, _ids % 2)],
    "summed": [(words, ids) for words in _in_every_dtype(_words) + [(_words * 9).int(), _words > 0]
               for ids in (_ids, torch.tensor(7), torch.tensor([4, 9]))],
    "indexed": [(x, ids) for x in _in_every_dtype(_cube)[::2] + [_cube.transpose(0, 2)] for ids in (
        _few, _few.int(), torch.tensor(3), _few - 20, _few.view(5, 1).expand(5, 3), torch.randint(-20, 20, (2, 3, 4)),
        torch.empty(0, dtype=torch.long))],
    "selected": [(x, ids) for x in (_cube, _cube.half(), _cube[:, ::2].transpose(0, 1).expand(10, 20, 20)) for ids in (
        _few % 10, (_few % 10).int(), torch.arange(10)[::3], _few[:1], _few[:0])],
    "gathered": [(x, ids) for x in (_cube, _cube.double(), _cube.transpose(0, 1)) for ids in (
        _square, _square.transpose(0, 2), _square[:, :, :1].expand(20, 20, 20), _square[:5, :, :7])],
    "taken": [(_cube, ids) for ids in (_square, _square[:1, :, :1], _square[:, :1])],
    "of_parts": [(x, ids) for x in (_cube, _cube.bfloat16()) for ids in (
        _square[:3, :7, 0] % 10, torch.randint(10, (2, 5)), torch.full((2, 5), 17))],
    "along_all": [(_cube, _square), (_cube, _few)],
    "written": [(_words, _ids)],
}  # fmt: skip
