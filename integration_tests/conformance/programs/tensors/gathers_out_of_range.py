"""Ids that are out of range where a kernel would pick elements by them: they raise what operators raise, and where some
take a negative one, it counts from the end. For the cpu alone: on a GPU such an id ends the process."""

import torch


def embedded(words: torch.Tensor, kinds: torch.Tensor, ids: torch.Tensor, kind: torch.Tensor):
    return torch.layer_norm(torch.embedding(words, ids) + torch.embedding(kinds, kind), [24])


def indexed(x: torch.Tensor, ids: torch.Tensor):
    return torch.relu(x[ids]) - 1, x[:, ids] * 2


def selected(x: torch.Tensor, ids: torch.Tensor):
    return torch.exp(torch.index_select(x, 0, ids)) + 1, torch.index_select(x, -1, ids) * 2


def gathered(x: torch.Tensor, ids: torch.Tensor):
    return torch.gather(x, 1, ids) * 2 + 1


def taken(x: torch.Tensor, ids: torch.Tensor):
    return torch.take_along_dim(x, ids, -1) + x.sum()


def of_parts(x: torch.Tensor, ids: torch.Tensor):
    return torch.embedding(x[0, 1:], ids.t()) * 2, torch.relu(x[:, 2:, 3:][:, ids[1]]) + 1


def written(x: torch.Tensor, ids: torch.Tensor):
    y = torch.embedding(x, ids) * 2
    ids.add_(1)
    return y + torch.embedding(x, ids)


def before_print(x: torch.Tensor, ids: torch.Tensor):
    y = torch.embedding(x, ids)
    print("looked up")
    return torch.relu(y) + 1


def _with(ids, value):
    ids = ids.clone()
    ids.view(-1)[-1] = value
    return ids


torch.manual_seed(0)
_words, _kinds, _cube = torch.randn(50, 24), torch.randn(2, 24), torch.randn(20, 20, 20)
_ids, _square = torch.randint(50, (3, 7)), torch.randint(20, (20, 20, 20))
_few = torch.tensor([3, 19, 0, 7, 7])
_cubes = (_cube, _cube.double(), _cube.transpose(0, 1))
calls = {
    "embedded": [(_words, _kinds, _with(_ids, value), _ids % 2) for value in (50, -1, 1 << 40)]
    + [(_words, _kinds, _ids, _with(_ids % 2, value)) for value in (2, -1)],
    "indexed": [(x, _with(_few, value)) for x in _cubes for value in (20, -21)],
    "selected": [(x, _with(_few, value)) for x in _cubes for value in (20, -1)],
    "gathered": [(x, _with(_square, value)) for x in _cubes for value in (20, -1)],
    "taken": [(_cube, _square - 33)],
    "of_parts": [(x, torch.full((2, 5), value)) for x in _cubes[:2] for value in (19, -1)],
    "written": [(_words, _with(_ids % 48, value)) for value in (48, 49, 50)],
    "before_print": [(_words, _ids), (_words, _with(_ids, 50))],
}  # fmt: skip
