"""Archives that are not what they should be, each made from a sound one by one change."""

import io
import pickle
import zipfile

import torch
import torch.nn as nn


class Layer(nn.Module):
    """torch's own Linear would be called otherwise when the process has scripted one before."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4))
        self.bias = nn.Parameter(torch.randn(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(x, self.weight, self.bias)


class Sound(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer()
        self.names = ["a", "b"]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


def sound_archive():
    torch.manual_seed(0)
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(Sound()), buffer)
    return buffer.getvalue()


def rewrite(archive, change):
    """The archive with `change(name without the top folder, bytes)` for each record; None leaves it out."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(made, "w") as new:
        for entry in old.infolist():
            data = change(entry.filename.split("/", 1)[1], old.read(entry))
            if data is not None:
                new.writestr(entry.filename, data)
    return made.getvalue()


def replace_record(name, data):
    return lambda record, old: data if record == name else old


def replace_source(old_text, new_text):
    def change(name, data):
        if name.startswith("code/") and name.endswith(".py"):
            return data.replace(old_text, new_text)
        return data

    return change


def truncated(archive, keep):
    return archive[: int(len(archive) * keep)]


def bit_flipped(archive, record):
    """One bit of a record flipped, as its checksum tells."""
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        entry = next(entry for entry in file.infolist() if entry.filename.endswith(record))
    header = archive[entry.header_offset : entry.header_offset + 30]
    start = entry.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    position = start + entry.compress_size // 3
    return archive[:position] + bytes([archive[position] ^ 0x10]) + archive[position + 1 :]


def zip_bomb(archive):
    """The model's source followed by a gigabyte of spaces, which deflate makes into one megabyte."""
    block = b" " * (1 << 20)
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for entry in old.infolist():
            data = old.read(entry)
            if not entry.filename.endswith("bad_archives.py"):
                new.writestr(entry.filename, data)
                continue
            with new.open(entry.filename, "w", force_zip64=True) as record:
                record.write(data)
                for _ in range(1024):
                    record.write(block)
    return made.getvalue()


class _Command:
    """Unpickles by calling os.system, if a reader lets it."""

    def __reduce__(self):
        import os

        return os.system, ("touch /tmp/hearth-was-here",)


# name -> (the bad archive, words that the error must have)
def bad_archives():
    sound = sound_archive()
    return {
        "empty": (b"", []),
        "text": (b"hello, I am no archive", []),
        "cut in half": (truncated(sound, 0.5), []),
        "cut near its end": (truncated(sound, 0.98), []),
        "flipped weights": (bit_flipped(sound, "data/0"), ["data/0"]),
        "flipped pickle": (bit_flipped(sound, "data.pkl"), ["data.pkl"]),
        "flipped source": (bit_flipped(sound, "bad_archives.py"), ["bad_archives.py"]),
        "flipped constants": (bit_flipped(sound, "constants.pkl"), ["constants.pkl"]),
        "no data.pkl": (rewrite(sound, replace_record("data.pkl", None)), ["data.pkl"]),
        "no weights": (rewrite(sound, replace_record("data/0", None)), ["data/0"]),
        "short weights": (rewrite(sound, replace_record("data/0", b"1234")), ["64"]),
        "version 99": (rewrite(sound, lambda name, data: b"99\n" if name.endswith("version") else data), ["99"]),
        "a command": (
            rewrite(sound, replace_record("data.pkl", pickle.dumps(_Command(), protocol=2))),
            ["system"],
        ),
        "a pickle of garbage": (rewrite(sound, replace_record("data.pkl", b"\x80\x02garbage.")), ["data.pkl"]),
        "a syntax error": (
            rewrite(sound, replace_source(b"return (layer).forward(x, )", b"return (layer).forward(x, ")),
            ["bad_archives.py", "line"],
        ),
        "an unknown operator": (
            rewrite(sound, replace_source(b"torch.linear(x, weight, bias)", b"ops.mylib.frobnicate(x, weight, bias)")),
            ["mylib::frobnicate"],
        ),
        "an unknown name": (
            rewrite(sound, replace_source(b"return (layer).forward(x, )", b"return (nonesuch).forward(x, )")),
            ["nonesuch"],
        ),
        "a zip bomb": (zip_bomb(sound), ["bad_archives.py"]),
        "a torch.save file": (saved_tensor(), []),
    }


def saved_tensor():
    buffer = io.BytesIO()
    torch.save((torch.ones(2),), buffer)
    return buffer.getvalue()

