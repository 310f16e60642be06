"""What operators refuse: the samples with which torch's operator database expects an error, scripted where a script can
say the call. Class and message of what is raised are compared, and dtypes, shapes, strides and memory of the arguments as the failed
call left them."""

import numpy
import torch

from integration_tests.conformance import making
from integration_tests.conformance.case import Case
from integration_tests.conformance.suites import operators

NAME = "operator_errors"
TITLE = "Operators' errors: the samples that torch's operator database expects to fail"
ITEMS = "operators"


def cases(folder, quick, device="cpu"):
    items = [{"name": operators.name_of(op), "device": device} for op in operators.database() if op.error_inputs_func]
    if quick:
        items = [items[i] for i in making.spread(len(items), 60)]
    yield from making.made("integration_tests.conformance.suites.operator_errors:make", items, folder / device)


def make(item):
    """The archives and inputs of one operator's errors."""
    folder = making.folder_of(item)
    numpy.random.seed(0)
    op = operators.named(item["name"])
    made, unmade = [], []
    for index, error_input in enumerate(op.error_inputs(item["device"])):
        sample = error_input.sample_input
        name = f"{item['name']}/{index}"
        path, inputs = folder / f"{index}.pt", folder / f"{index}.in.pt"
        writer = operators.CallWriter()
        try:
            source = writer.source(op, "function", [sample.input, *sample.args], sample.kwargs)
            torch.jit.save(torch.jit.CompilationUnit(source).call, str(path))
            making.save_inputs(writer.inputs, inputs)
        except Exception as error:
            unmade.append(f"{name}: {making.line(error)}")
            continue
        # What a failed call had written so far may be memory that it had not filled yet.
        made.append(Case(name, op.name, str(path), str(inputs), skip=("values",)).to_json())
    return {"cases": made, "unmade": unmade}
