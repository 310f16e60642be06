"""Small programs, a file each: programs/<topic>/<name>.py beside the suites opens with a sentence on what it shows, then
holds

  functions              run as source, this very file, against torch.jit.script of them; and scripted into an archive
  a class Program        a module, scripted
  make()                 what torch.jit.save takes, where it is neither
  code, attributes       the text of code/__torch__.py with a class Program, as only a printer writes it, or such texts by
                         module ("__torch__", "__torch__.torch.classes.x"), and the values of its attributes

and `calls`: a list of calls of `f`, the module or make()'s answer, or a dict of such lists by function. A call is a tuple
of arguments, or a dict of "args", "kwargs", "method" and "seed". Where torch itself would crash, hang or read what is not
its own, "raises" says what hearth raises instead, and torch is not asked.

On a GPU programs are left out that name a device: to hearth a literal one is the daemon's, to torch.jit it is that one.
"""

import hashlib
import sys
import warnings
import zipfile
from pathlib import Path

import torch

from integration_tests.conformance import making
from integration_tests.conformance.case import Case
from integration_tests.conformance.oracle import load_source

NAME = "programs"
TITLE = "Programs: small ones, written for everything the language has"
PROGRAMS = Path(__file__).resolve().parent.parent / "programs"


def cases(folder, quick, device="cpu"):
    items = []
    for path in sorted(PROGRAMS.glob("*/*.py")):
        text = path.read_bytes()
        if device != "cpu" and any(name in text for name in (b"cpu", b"cuda", b"meta")):
            continue
        content = hashlib.sha256(text).hexdigest()[:12]
        items.append({"name": f"{path.parent.name}/{path.stem} {content}", "path": str(path)})
    cases = list(making.made("integration_tests.conformance.suites.programs:make", items, folder))
    made = {"/".join(case.name.split("/")[:2]) for case in cases}
    if idle := [item["path"] for item in items if item["name"].split()[0] not in made]:
        sys.exit(f"torch.jit refuses the module of {', '.join(idle)}: a program that shows nothing")
    return cases


def make(item):
    warnings.simplefilter("ignore")
    folder, path = making.folder_of(item), Path(item["path"])
    program = load_source(path)
    by_function = program.calls if isinstance(program.calls, dict) else {"f": program.calls}
    is_source = not any(hasattr(program, name) for name in ("Program", "make", "code"))
    made, unmade = [], []
    for function, calls in by_function.items():
        archive = folder / (f"{function}.pt" if is_source else "program.pt")
        try:
            _save(program, getattr(program, function) if is_source else None, archive)
        except Exception as error:
            if not is_source:
                unmade.append(f"{path.stem}: {error}")
            archive = None  # where torch refuses the source, so must hearth
        for index, call in enumerate(calls):
            call = {"args": call} if isinstance(call, tuple) else call
            inputs = folder / f"{function}.{index}.in.pt"
            torch.save({"args": call.get("args", ()), "kwargs": call.get("kwargs", {})}, inputs)
            label = f"{path.parent.name}/{path.stem}/" + (f"{function}.{index}" if len(by_function) > 1 else str(index))
            common = {"group": path.parent.name, "inputs": str(inputs), "raises": call.get("raises", "")}
            common |= {"seed": call.get("seed", 0)}
            if is_source:
                made.append(Case(name=f"{label}/source", archive=str(path), method=function, **common))
            if archive:
                made.append(Case(name=label, archive=str(archive), method=call.get("method", ""), **common))
    return {"cases": [case.to_json() for case in made], "unmade": unmade}


def _save(program, function, archive):
    if function is not None:
        scripted = torch.jit.script(function)
    elif hasattr(program, "make"):
        scripted = program.make()
    elif hasattr(program, "code"):
        return _pack(program.code, getattr(program, "attributes", {}), archive)
    else:
        scripted = torch.jit.script(program.Program().eval())
    torch.jit.save(scripted, str(archive))


class _Carrier(torch.nn.Module):
    def forward(self):
        return 0


def _pack(code, attributes, archive):
    """An archive of a class Program with that code: another module's, with its class renamed and its code replaced."""
    carrier = _Carrier()
    for name, value in attributes.items():
        if isinstance(value, torch.nn.Parameter):
            carrier.register_parameter(name, value)
        elif isinstance(value, torch.Tensor):
            carrier.register_buffer(name, value)
        else:
            setattr(carrier, name, value)
    scripted = torch.jit.script(carrier)
    name = scripted._c._type().qualified_name().encode()  # "__torch__.a._Carrier"
    torch.jit.save(scripted, str(archive))
    with zipfile.ZipFile(archive) as file:
        records = {info.filename: file.read(info) for info in file.infolist()}
    with zipfile.ZipFile(archive, "w") as file:
        for record, content in records.items():
            folder, _, rest = record.partition("/")
            if rest.startswith("code/") or rest == ".data/serialization_id":
                continue
            if rest == "data.pkl":
                module, _, last = name.rpartition(b".")
                content = content.replace(b"c" + module + b"\n" + last + b"\n", b"c__torch__\nProgram\n")
            file.writestr(record, content)
        for path, text in (code if isinstance(code, dict) else {"__torch__": code}).items():
            file.writestr(f"{folder}/code/{path.replace('.', '/')}.py", text)
