"""The programs that torch's own JIT tests generate (torch.testing._internal.jit_metaprogramming_utils and jit_utils):
torch.nn's modules and functions with the arguments of their tests, scripted and traced, and the operators' variants that
those tests trace."""

import copy
import warnings

import torch

from integration_tests.conformance import making
from integration_tests.conformance.case import Case
from integration_tests.conformance.suites import operators

NAME = "metaprogramming"
TITLE = "Generated programs: what torch's own JIT tests generate of modules, functions and operators"

_BATCH = 25  # programs made at a time


def cases(folder, quick):
    items = []
    for kind, programs in (("module", _modules), ("function", _functions), ("operator", operators.database)):
        count = len(programs())
        numbers = making.spread(count, 60) if quick else range(count)
        for at in range(0, len(numbers), _BATCH):
            batch = list(numbers[at : at + _BATCH])
            items.append({"name": f"{kind} {batch[0]} to {batch[-1]}", "kind": kind, "numbers": batch})
    yield from making.made("integration_tests.conformance.suites.metaprogramming:make", items, folder / ("quick" if quick else "whole"))


def make(item):
    folder = making.folder_of(item)
    maker = _Maker(folder)
    for number in item["numbers"]:
        torch.manual_seed(number)
        {"module": maker.module, "function": maker.function, "operator": maker.operator}[item["kind"]](number)
    return {"cases": [case.to_json() for case in maker.cases], "unmade": maker.unmade}


def _utilities():
    warnings.simplefilter("ignore")
    from torch.testing._internal import jit_metaprogramming_utils  # takes seconds

    return jit_metaprogramming_utils


def _modules():
    return _utilities().get_all_nn_module_tests()


def _functions():
    return _utilities().get_nn_functional_tests()


class _Maker:
    def __init__(self, folder):
        self.folder = folder
        self.cases, self.unmade = [], []

    def module(self, number):
        test = _modules()[number]
        name = f"{_utilities().get_nn_mod_test_name(**test).removeprefix('test_nn_')}.{number}"

        def script():
            made = _utilities().try_get_nn_module_compiled_mod_and_inputs(**test)
            if made is None:
                raise ValueError("torch's tests leave it out")
            module, inputs = made
            _, tensors, _ = _utilities().get_script_args(inputs)
            return module, tensors

        def trace():
            _, inputs = script()
            arguments = test["constructor_args_fn"]() if "constructor_args_fn" in test else test.get("constructor_args", ())
            kind = test.get("constructor") or getattr(torch.nn, test["module_name"])
            inputs = tuple(_detached(value) for value in inputs)
            return torch.jit.trace(kind(*arguments), copy.deepcopy(inputs), check_trace=False), inputs

        torch.set_default_dtype(torch.float64)  # as those tests have it
        self._add("module", name, "script", script)
        self._add("module", name, "trace", trace)
        torch.set_default_dtype(torch.float32)

    def function(self, number):
        name, shape, arguments, *rest = _functions()[number]
        title = f"{name}{'_' + rest[0] if rest and rest[0] else ''}.{number}"

        def script():
            return _utilities().get_nn_functional_compiled_fn_and_inputs(name, shape, arguments, *rest)

        def trace():
            inputs = _utilities().create_input((shape,))[0] + _utilities().create_input(arguments)[0]
            return making.trace(getattr(torch.nn.functional, name), inputs, {})

        self._add("function", title, "script", script)
        self._add("function", title, "trace", trace)

    def operator(self, number):
        from torch.testing._internal.jit_utils import get_traced_sample_variant_pairs

        op = operators.database()[number]
        title = f"{op.formatted_name}.{number}"
        if torch.float32 not in op.supported_dtypes("cpu"):
            return
        try:
            pairs = get_traced_sample_variant_pairs("cpu", torch.float32, op)
        except Exception as error:
            self.unmade.append(f"operator/{title}: {making.line(error)}")
            return
        for variant in {id(variant): variant for variant, _ in pairs}.values():
            sample = next(sample for other, sample in pairs if other is variant)
            form = "method" if variant is op.get_method() else "function"
            arguments = [sample.input, *sample.args]
            self._add(
                "operator", title, f"{form}.trace", lambda v=variant, a=arguments, s=sample: making.trace(v, a, s.kwargs)
            )

    def _add(self, kind, title, how, build):
        name = f"{kind}/{title}/{how}"
        try:
            with torch.no_grad():
                program, inputs = build()
                program(*copy.deepcopy([_detached(value) for value in inputs]))
            path = self.folder / f"{len(self.cases)}.pt"
            torch.jit.save(program, str(path))
            making.save_inputs(inputs, path.with_suffix(".in.pt"))
        except Exception as error:
            self.unmade.append(f"{name}: {making.line(error)}")
            return
        skip = ("values",) if title.split(".")[0] in operators.UNINITIALIZED else ()
        group = {"module": "modules", "function": "functions", "operator": "traced operators"}[kind]
        self.cases.append(Case(name, f"{group}, {how}", str(path), str(path.with_suffix(".in.pt")), skip=skip))


def _detached(value):
    return value.detach() if isinstance(value, torch.Tensor) else value
