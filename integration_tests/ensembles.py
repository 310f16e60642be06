"""Ensembles as text: config.pbtxt of models that are made of others, and how tests put them into a repository."""

from pathlib import Path


def links(key, pairs):
    return "".join(f' {key} {{ key: "{name}" value: "{tensor}" }}' for name, tensor in pairs.items())


def step(model, inputs, outputs, version=-1):
    """`inputs` and `outputs`: the model's names to the ensemble's tensors."""
    maps = links("input_map", inputs) + links("output_map", outputs)
    return f'  step {{ model_name: "{model}" model_version: {version}{maps} }}\n'


def tensors(kind, declared):
    """`declared`: names to (data_type, dims), and perhaps more fields as text."""
    lines = [
        f'{kind} {{ name: "{name}" data_type: TYPE_{of[0]} dims: {list(of[1])} {" ".join(of[2:])} }}\n'
        for name, of in declared.items()
    ]
    return "".join(lines)


def ensemble(inputs, outputs, steps, scheduling="", more=""):
    """The text of its config.pbtxt."""
    edges = tensors("input", inputs) + tensors("output", outputs)
    return f'platform: "ensemble"\n{edges}ensemble_scheduling {{\n{"".join(steps)}{scheduling}}}\n{more}'


def put_ensemble(repository, name, config, version=1):
    folder = Path(repository) / name / str(version)
    folder.mkdir(parents=True, exist_ok=True)
    new = folder.parent / "config.pbtxt.new"
    new.write_text(config)
    new.rename(folder.parent / "config.pbtxt")
