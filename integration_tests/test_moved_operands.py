"""Operators that copy elements to other places (jit/definitions/place_rules.h), each in a chain that is one kernel, beside
what LibTorch gives: concatenation, padding, nearest neighbours, gates, shuffles, repetition, mirrors, triangles. In several
dtypes and layouts, of odd sizes and sizes of 1, of parts of tensors, and of none."""

import pytest
import torch

from integration_tests.test_kernel_rules import program, run, taken

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool)
COPIES = {"aten::cat", "aten::concat", "aten::concatenate", "aten::constant_pad_nd", "aten::pad", "aten::glu"}
COPIES |= {f"aten::{name}" for name in "hstack vstack dstack column_stack flip fliplr flipud pixel_shuffle pixel_unshuffle".split()}
COPIES |= {f"aten::{name}" for name in "channel_shuffle native_channel_shuffle repeat tile repeat_interleave tril triu diff slice_scatter".split()}
COPIES |= {f"aten::{edge}_pad{rank}d" for edge in ("reflection", "replication") for rank in (1, 2, 3)}
COPIES |= {f"aten::{nearest}{rank}d" for nearest in ("upsample_nearest", "_upsample_nearest_exact") for rank in (1, 2, 3)}

# Of x [n, 34, h, w], y [n, 25, h, w] and z [n, 1, h, w], in one layout. Loops are long enough to be worth it
# (passes/fuse.cpp).
CHAINS = """
torch.cat([x, y, z], 1)
torch.cat([x, x], 1)
torch.cat([x, y], -3)
torch.concat([y, z, y], 1)
torch.concatenate([z, x], 1)
torch.cat([x, x, x], 2)
torch.cat([y, y], 3)
torch.cat([x, y.to(torch.float64)], 1)
torch.constant_pad_nd(x, [1, 2], 0)
torch.constant_pad_nd(x, [1, 2, 3, 0], 1)
torch.constant_pad_nd(x, [-1, 2, 0, -1], 1)
torch.constant_pad_nd(x, [0, 0, 0, 0, 2, 1], 1)
torch.ops.aten.pad(y, [1, 1, 1, 1])
torch.ops.aten.pad(y, [0, 1, 2, 0], "constant", 1.0)
torch.ops.aten.upsample_nearest2d(x, [2 * x.size(2), 2 * x.size(3)], None)
torch.ops.aten.upsample_nearest2d(x, None, [2.0, 3.0])
torch.ops.aten.upsample_nearest2d(y, None, [1.0, 4.0])
torch.ops.aten.upsample_nearest2d(x, None, [7.0, 2.0])
torch.hstack([y, x])
torch.vstack([y, y, y])
torch.dstack([y, y, y, y])
torch.column_stack([y, x, y])
torch.ops.aten.glu(x, 1)
torch.ops.aten.glu(torch.cat([x, x], 3), 3)
"""
# Likewise, where LibTorch takes such dtypes and sizes.
MOVES = """
torch.ops.aten.pad(x, [1, 2, 3, 0], "circular")
torch.ops.aten.pad(x, [0, 2, 3, 1], "reflect")
torch.ops.aten.pad(x, [1, 0, 5, 9], "replicate")
torch.ops.aten.reflection_pad1d(x.flatten(1, 2), [4, 3])
torch.ops.aten.reflection_pad2d(x, [18, 1, 0, 6])
torch.ops.aten.reflection_pad3d(x.unflatten(1, [17, 2]), [1, 2, 3, 0, 1, 1])
torch.ops.aten.replication_pad1d(x.flatten(1, 2), [0, 30])
torch.ops.aten.replication_pad2d(x, [1, 0, 2, 2])
torch.ops.aten.replication_pad3d(x.unflatten(1, [17, 2]), [1, 2, 3, 0, 1, 7])
torch.flip(x, [1, 3])
torch.flip(x, [-1])
torch.fliplr(x)
torch.flipud(x)
torch.pixel_shuffle(x[:, :32], 2)
torch.pixel_shuffle(x[:, :18], 3)
torch.pixel_unshuffle(x.reshape(x.size(0), x.size(2), x.size(3), 34)[:, :, :18], 2)
torch.channel_shuffle(x, 17)
torch.ops.aten.native_channel_shuffle(x, 2)
x.repeat(1, 2, 1, 3)
x.repeat(2, 1, 1, 4)
x.repeat(1, 1, 6, 1)
x.repeat(3, 1, 1, 1, 1)
z.repeat(1, 16, 1, 1)
torch.tile(x, [2, 1])
torch.repeat_interleave(x, 2, 1)
torch.repeat_interleave(x, 3, -1)
torch.tril(x)
torch.tril(y, -2)
torch.triu(x, 3)
torch.diff(x)
torch.diff(x, dim=1)
torch.diff(y, 1, 2)
torch.slice_scatter(x, y, 1, 3, 28)
torch.slice_scatter(x, x[:, :17], 1, 0, 34, 2)
torch.slice_scatter(x, x[:, :, :4], 2, -5, -1)
torch.ops.aten._upsample_nearest_exact2d(x, [2 * x.size(2), 2 * x.size(3)], None)
torch.ops.aten._upsample_nearest_exact2d(x, None, [3.0, 1.0])
torch.ops.aten._upsample_nearest_exact1d(x.flatten(1, 2), [57])
torch.ops.aten._upsample_nearest_exact3d(x.unflatten(1, [17, 2]), [4, 7, 38])
torch.ops.aten.upsample_nearest1d(x.flatten(1, 2), [57])
torch.ops.aten.upsample_nearest3d(x.unflatten(1, [17, 2]), [4, 7, 38])
"""
FLOATING_ONLY = ("glu", "upsample")
# LibTorch's own: facts do not tell in which order the result lies, or another copy reads it. Of parts, neither do they
# of what is padded or gated; with one channel, images lie in both orders.
OWN = ("float64", "-1, 2, 0, -1", "glu(torch.cat")
# What else lies in another order than its operand, or in loops too short.
OTHER_ORDER = ("circular", "pad3d", "repeat(", "repeat_i", "tile", "tril", "triu", "diff", "pixel_shuffle", "3d(x.unflatten")
OWN_IN_LAYOUT = {
    "contiguous": (),
    "channels_last": ("z]", "z,", *OTHER_ORDER),
    "parts": ("pad(x", "pad(y", "constant_pad", "glu", "tril", "triu", "diff", "slice_scatter"),
}


def chains(dtype, **tensors):
    floating = dtype.is_floating_point
    texts = [text for text in CHAINS.strip().splitlines() if floating or not any(word in text for word in FLOATING_ONLY)]
    return texts + [text for text in MOVES.strip().splitlines() if taken(text, **tensors) is not None]


def images(dtype, layout, size, channels, seed):
    generator = torch.Generator().manual_seed(seed)
    n, h, w = size
    x = torch.randn(n, channels, h, w, generator=generator, dtype=torch.float64)
    x = (x > 0) if dtype == torch.bool else (x * 40).abs().to(dtype) if not dtype.is_floating_point else x.to(dtype)
    return x.contiguous(memory_format=torch.channels_last) if layout == "channels_last" else x


def expected_of(text, x, y, z):
    value = eval(text, {"torch": torch, "x": x, "y": y, "z": z})
    return torch.where(value > 0, value, value + value)


def program_of(statements, texts):
    """Its statements and results: each text in a chain with others."""
    chained = [f"v{i} = {text}; w{i} = torch.where(v{i} > 0, v{i}, v{i} + v{i})" for i, text in enumerate(texts)]
    return [*statements, *(s for both in chained for s in both.split("; "))], [f"w{i}" for i in range(len(texts))]


@pytest.mark.parametrize("layout", ["contiguous", "channels_last", "parts"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_copies_are_read_where_they_come_from(dtype, layout, tmp_path):
    x, y, z = (images(dtype, layout, (2, 7, 19), channels, channels) for channels in (34, 25, 1))
    slices, inside = [], [x, y, z]
    if layout == "parts":
        # Of tensors that are twice as wide.
        x, y, z = (torch.cat([one, one], 3) for one in (x, y, z))
        slices = [f"{name} = {name}[:, :, :, 4:23]" for name in "xyz"]
        inside = [one[:, :, :, 4:23] for one in (x, y, z)]
    own = (*OWN, *OWN_IN_LAYOUT[layout])
    for is_own in (False, True):
        texts = [text for text in chains(dtype, x=inside[0], y=inside[1], z=inside[2]) if any(word in text for word in own) == is_own]
        source, results = program_of(slices, texts)
        got, operators = run(tmp_path, program("xyz", source, results), x, y, z)
        for text, result in zip(texts, got):
            expected = expected_of(text, *inside)
            assert expected.dtype == result.dtype and expected.shape == result.shape, text
            tolerance = 4 * torch.finfo(dtype).eps if "glu" in text else 0
            assert torch.allclose(expected.double(), result.double(), rtol=tolerance, atol=0), text
        assert is_own or not operators & COPIES, operators & COPIES


@pytest.mark.parametrize("layout", ["contiguous", "channels_last"])
@pytest.mark.parametrize("size", [(1, 1, 1), (1, 5, 1), (3, 1, 4), (0, 3, 5), (1, 33, 65)], ids=str)
def test_sizes_of_one_and_none(size, layout, tmp_path):
    x, y, z = (images(torch.float32, layout, size, channels, channels) for channels in (34, 25, 1))
    texts = [text for text in chains(torch.float32, x=x, y=y, z=z) if size[0] > 0 or "upsample" not in text]
    texts = [text for text in texts if min(size[1:]) > 1 or "-1" not in text]
    source, results = program_of([], texts)
    got, _ = run(tmp_path, program("xyz", source, results), x, y, z)
    for text, result in zip(texts, got):
        expected = expected_of(text, x, y, z)
        assert expected.shape == result.shape, text
        assert torch.allclose(expected, result, rtol=1e-6, atol=0), text


def test_every_number_that_pads_and_every_factor(tmp_path):
    """Also factors of which no multiple is exact in floating point, where LibTorch's own places count."""
    x = images(torch.float32, "channels_last", (2, 13, 11), 16, 1)
    texts = [f"torch.ops.aten.upsample_nearest2d(x, None, [{a}, {b}])" for a, b in [(1.5, 2.5), (3.0, 5.0), (10.0, 11.0), (41.0, 1.1), (0.5, 0.7)]]
    texts += [f"torch.ops.aten.upsample_nearest2d(x, [{a}, {b}], None)" for a, b in [(13, 12), (26, 29), (7, 5), (533, 451), (1, 1)]]
    texts += [f"torch.constant_pad_nd(x, [1, 0], {value})" for value in ("-0.0", "float('inf')", "float('nan')", "3", "1e30")]
    source, results = program_of([], texts)
    got, _ = run(tmp_path, program("x", source, results), x)
    for text, result in zip(texts, got):
        expected = expected_of(text, x, x, x)
        assert torch.equal(expected.nan_to_num(7), result.nan_to_num(7)), text
        assert torch.equal(expected.signbit() & ~expected.isnan(), result.signbit() & ~result.isnan()), text


def test_rows_are_normalized_across_what_is_joined(tmp_path):
    x, y = torch.randn(9, 34), torch.randn(9, 25)
    source = program("xy", ["v = torch.cat([x, y], 1) * 2", "w = torch.softmax(v, 1)"], ["v", "w"])
    (v, w), operators = run(tmp_path, source, x, y)
    assert operators == {"hearth::fused"}
    expected = torch.cat([x, y], 1) * 2
    assert torch.equal(v, expected) and torch.allclose(w, torch.softmax(expected, 1), rtol=1e-5)
