"""Archives written by hand: any source text under code/, and any pickle as the module."""

import struct
import textwrap
import zipfile


def pickled_object(class_name, attributes=b""):
    """The pickle of an object; `attributes` is what attribute() gives, joined."""
    module, _, name = class_name.rpartition(".")
    return b"\x80\x02" + object_body(f"{module}\n{name}", attributes) + b"."


def object_body(class_name, attributes=b""):
    return b"c" + class_name.encode() + b"\n)\x81}(" + attributes + b"ub"


def attribute(name, value):
    raw = name.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw + value


def archive(path, sources, data=None):
    """`sources`: the text of code/__torch__.py, or texts by module path."""
    if isinstance(sources, str):
        sources = {"__torch__": sources}
    records = {"data.pkl": pickled_object("__torch__.M") if data is None else data}
    records |= {f"code/{module.replace('.', '/')}.py": text for module, text in sources.items()}
    records |= {"constants.pkl": b"\x80\x02).", ".data/version": "10\n"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for name, content in records.items():
            file.writestr(f"archive/{name}", content)


def module(body, before="", attributes=""):
    """The text of a class M with the methods of `body`, after the definitions of `before`."""
    head = textwrap.dedent(before).strip("\n")
    lines = [head] if head else []
    lines += ["class M(Module):", "  __parameters__ = []", "  __buffers__ = []"]
    if attributes:
        lines.append(textwrap.indent(textwrap.dedent(attributes).strip("\n"), "  "))
    lines.append(textwrap.indent(textwrap.dedent(body).strip("\n"), "  "))
    return "\n".join(lines) + "\n"
