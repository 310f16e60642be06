"""Makes the files that the archive's tests read: test_files.py FOLDER.

Each saved value `NAME.pt` comes with `NAME.txt`, the text that test_values.cpp's Describe makes of the same value.
"""

import collections
import io
import os
import pickle
import struct
import sys
import zipfile

import torch

import test_modules


def describe(value):
    if value is None:
        return "None"
    if isinstance(value, torch.Tensor):
        return describe_tensor(value)
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return struct.pack(">d", value).hex()
    if isinstance(value, complex):
        return f"complex({describe(value.real)}, {describe(value.imag)})"
    if isinstance(value, str):
        return "'" + value.encode().hex() + "'"
    if isinstance(value, bytes):
        return "'" + value.hex() + "'"
    if isinstance(value, torch.device):
        return f"device({value})"
    if isinstance(value, torch.dtype):
        return str(torch.zeros(0, dtype=value)._scalar_type_number())
    if isinstance(value, torch.Size) or isinstance(value, list):
        return "[" + ", ".join(describe(v) for v in value) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(describe(v) for v in value) + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{describe(k)}: {describe(v)}" for k, v in value.items()) + "}"
    raise TypeError(type(value))


def describe_tensor(tensor):
    grad = " grad" if tensor.requires_grad else ""
    dtype = str(tensor.dtype).removeprefix("torch.")
    sizes = list(tensor.shape)
    tensor = tensor.detach()
    if tensor.layout == torch.sparse_coo:
        parts = f"{describe(tensor._indices())}, {describe(tensor._values())}"
        return f"sparse_coo({sizes}, {parts}){grad}"
    if tensor.layout == torch.sparse_csr:
        parts = f"{describe(tensor.crow_indices())}, {describe(tensor.col_indices())}, {describe(tensor.values())}"
        return f"sparse_csr({sizes}, {parts}){grad}"
    where = f"{sizes}, {list(tensor.stride())}, {tensor.storage_offset()}"
    if tensor.is_meta:
        return f"meta({dtype}, {sizes}, {list(tensor.stride())}){grad}"
    if tensor.is_quantized:
        if tensor.qscheme() == torch.per_tensor_affine:
            scheme = f"{describe(tensor.q_scale())}, {tensor.q_zero_point()}"
        else:
            scheme = (
                f"{describe(tensor.q_per_channel_scales())}, {describe(tensor.q_per_channel_zero_points())}, "
                f"{tensor.q_per_channel_axis()}"
            )
        return f"quantized({dtype}, {where}, {raw(tensor.int_repr())}, {scheme}){grad}"
    return f"tensor({dtype}, {where}, {raw(tensor.resolve_conj().resolve_neg())}){grad}"


def raw(tensor):
    tensor = tensor.contiguous()
    if tensor.numel() == 0:
        return ""
    return bytes(tensor.flatten().view(torch.uint8).tolist()).hex()


def saved_values():
    torch.manual_seed(0)
    weight = torch.randn(3, 4)
    named = {
        "numbers": [0, 1, -1, 255, 256, 65536, -(2**31), 2**31, 2**62, -(2**63), 1.5, float("inf"), -0.0, True, 1 + 2j],
        "strings": ["", "text", "ä€𝄞", "a\nb", "x" * 300],
        "bytes": b"\x00abc\xff\x80",
        "nothing": None,
        "nested": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [[]], [[1], [2, 3]], {"a": {"b": [1.0]}}),
        "dicts": {"s": 1, 2: "int", 2.5: "float", True: "bool"},
        "ordered": collections.OrderedDict([("z", 1), ("a", 2)]),
        "state_dict": torch.nn.BatchNorm1d(3).state_dict(),
        "parameters": list(torch.nn.Linear(2, 3).parameters()),
        "sizes": torch.Size([1, 2, 3]),
        "devices": [torch.device("cpu"), torch.device("cuda:1"), torch.device("meta")],
        "views": (weight, weight.t(), weight[1:, ::2], weight[0].expand(5, 4), weight[2, 3], weight[:0]),
        "empty": [torch.zeros(0), torch.zeros(2, 0, 3)],
        "meta": torch.zeros(2, 3, device="meta"),
        "conjugate": torch.tensor([1 + 2j, 3 - 1j]).conj(),
        "negative": torch.tensor([1 + 2j, 3 - 1j]).conj().imag,
        "quantized": torch.quantize_per_tensor(torch.randn(2, 3), 0.1, 10, torch.quint8),
        "quantized_channels": torch.quantize_per_channel(
            torch.randn(2, 3), torch.tensor([0.1, 0.2], dtype=torch.double), torch.tensor([0, 1]), 0, torch.qint8
        ),
        "sparse": torch.eye(3).to_sparse(),
        "sparse_csr": torch.eye(3).to_sparse_csr(),
        "with_attribute": with_attribute(torch.ones(2)),
        "mixed": {"args": (torch.arange(3), [1, 2]), "kwargs": {"flag": True}},
    }
    for dtype in [
        torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.uint8, torch.int16, torch.int32,
        torch.int64, torch.bool, torch.complex64, torch.complex128, torch.uint16, torch.uint32, torch.uint64,
        torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
    ]:  # fmt: skip
        named[f"dtype_{dtype}".replace("torch.", "")] = torch.arange(6).view(2, 3).to(dtype)
    return named


def with_attribute(tensor):
    tensor.note = 1
    return tensor


def archive(module):
    buffer = io.BytesIO()
    torch.jit.save(module, buffer)
    return buffer.getvalue()


def changed(data, change):
    """The same zip file; `change` gives the records that replace one, by name and bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            for new_name, record in change(name, source.read(name)):
                target.writestr(new_name, record)
    return out.getvalue()


def with_old_debug_records(name, record):
    """As they were before strings were put in a table."""
    if name.endswith(".debug_pkl"):
        _, strings, ranges = pickle.loads(record)
        record = pickle.dumps(
            tuple(
                (offset, (("".join(strings[i] for i in pieces), strings[file], line), begin, end), tag)
                for offset, ((pieces, file, line), begin, end), tag in ranges
            ),
            protocol=2,
        )
    return [(name, record)]


def byte_swapped(data):
    """The same archive as a big-endian machine would have written it, for a float32 and a complex64 tensor."""

    def change(name, record):
        if name.endswith("byteorder"):
            record = b"big"
        if "/data/" in name:
            record = b"".join(record[i : i + 4][::-1] for i in range(0, len(record), 4))
        return [(name, record)]

    return changed(data, change)


def repacked(data, method):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", method) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    return out.getvalue()


def saved(value, **kwargs):
    buffer = io.BytesIO()
    torch.save(value, buffer, **kwargs)
    return buffer.getvalue()


def write(folder, name, data):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


# An archive as torch 1.0 to 1.3 wrote it: containers without type tags.
UNTAGGED_CODE = """class M(Module):
  __parameters__ = ["w", ]
  w : Tensor
  numbers : List[int]
  table : Dict[str, List[float]]
  maybe : Optional[List[Tuple[int, str]]]
  def forward(self: __torch__.M,
    x: Tensor) -> Tensor:
    return torch.add(x, self.w)
"""


class Untagged:
    """Pickles as `attributes` of an object of class __torch__.M."""

    def __init__(self, attributes):
        self.attributes = attributes


class UntaggedPickler(pickle._Pickler):
    def __init__(self, file):
        super().__init__(file, protocol=2)

    def save(self, value, save_persistent_id=True):
        if not isinstance(value, Untagged):
            return super().save(value, save_persistent_id)
        self.write(b"c__torch__\nM\n)\x81")
        super().save(value.attributes)
        self.write(b"b")

    def persistent_id(self, value):
        if isinstance(value, torch.storage.TypedStorage):
            return ("storage", torch.FloatStorage, "0", "cpu", value.size())
        return None


def untagged_archive(version, attributes):
    buffer = io.BytesIO()
    UntaggedPickler(buffer).dump(Untagged(attributes))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        target.writestr("m/version", f"{version}\n")
        target.writestr("m/code/__torch__.py", UNTAGGED_CODE)
        target.writestr("m/constants.pkl", b"\x80\x02).")
        target.writestr("m/data.pkl", buffer.getvalue())
        target.writestr("m/data/0", struct.pack("<2f", 1, 2))
    return out.getvalue()


def write_archives(folder):
    scripted = archive(torch.jit.script(test_modules.Small()))
    write(folder, "scripted.archive", scripted)
    write(folder, "scripted_old_debug.changed", changed(scripted, with_old_debug_records))
    write(folder, "traced.archive", archive(torch.jit.trace(test_modules.Small(), torch.ones(1, 3))))
    for name, module in test_modules.modules().items():
        write(folder, name + ".archive", archive(module))
    attributes = {
        "w": torch.tensor([1.0, 2.0]),
        "numbers": [1, 2],
        "table": {"a": [1.0, 2.0], "b": []},
        "maybe": [(1, "x"), (2, "y")],
    }
    write(folder, "untagged.archive", untagged_archive(2, attributes))
    for version in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "x", ""):
        write(folder, f"version_{version}.changed", untagged_archive(version, attributes))
    write(folder, "missing_attribute.changed", untagged_archive(2, {k: attributes[k] for k in ("w", "numbers", "table")}))
    write(folder, "wrong_attribute.changed", untagged_archive(2, {**attributes, "numbers": ["text"]}))

    def rename(old, new):
        return lambda name, record: [(name.replace(old, new), record)]

    def drop(end):
        return lambda name, record: [] if name.endswith(end) else [(name, record)]

    def add(new_name, new_record):
        return lambda name, record: [(name, record)] + (
            [("m/" + new_name, new_record)] if name.endswith("/version") else []
        )

    scripted = changed(scripted, lambda name, record: [("m/" + name.split("/", 1)[1], record)])
    write(folder, "no_data.changed", changed(scripted, drop("data.pkl")))
    write(folder, "no_constants.changed", changed(scripted, drop("constants.pkl")))
    write(folder, "no_code.changed", changed(scripted, drop(".py")))
    write(folder, "no_weight.changed", changed(scripted, drop("data/0")))
    write(folder, "no_version.changed", changed(scripted, drop("version")))
    write(folder, "legacy.changed", changed(scripted, add("model.json", b"{}")))
    write(folder, "exported.changed", changed(scripted, add("archive_format", b"pt2")))
    write(folder, "package.changed", changed(scripted, add(".data/extern_modules", b"")))
    # The version that newer archives keep apart counts, whatever the other one says.
    write(folder, "two_versions.changed", changed(scripted, add(".data/version", b"6\n")))
    short = lambda name, record: [(name, record[:-1] if name.endswith("data/0") else record)]  # noqa: E731
    write(folder, "short_weight.changed", changed(scripted, short))


def main():
    folder = sys.argv[1]
    for name, value in saved_values().items():
        write(folder, name + ".pt", saved(value))
        write(folder, name + ".txt", describe(value))
    pair = (torch.randn(3, 2), torch.tensor([1 + 2j, 3 - 1j]))
    torch.serialization.set_crc32_options(False)
    without_checksums = saved(pair)
    torch.serialization.set_crc32_options(True)
    for name, data in {
        "without_checksums": without_checksums,
        "big_endian": byte_swapped(saved(pair)),
        "repacked": repacked(saved(pair), zipfile.ZIP_STORED),
        "deflated": repacked(saved(pair), zipfile.ZIP_DEFLATED),
    }.items():
        write(folder, name + ".pt", data)
        write(folder, name + ".txt", describe(pair))
    write_archives(folder)
    write(folder, "old_format.refused", saved(pair, _use_new_zipfile_serialization=False))
    write(folder, "protocol_4.refused", saved(pair, pickle_protocol=4))
    write(folder, "object.refused", saved(torch.nn.Linear(2, 2)))
    write(folder, "number_of_numpy.refused", saved(slice(1, 2)))
    write(folder, "set.refused", saved({1, 2}))
    write(folder, "huge_integer.refused", saved(2**64))


if __name__ == "__main__":
    main()
