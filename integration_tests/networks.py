"""Networks with random weights whose answers depend on every part of them: what the zoo and the conformance suite of models
make their archives from."""

import torch

from integration_tests.values import leaves

SEED = 20


def image(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(SEED + 1))


def tokens(rows, columns, vocabulary=1000):
    return torch.randint(0, vocabulary, (rows, columns), generator=torch.Generator().manual_seed(SEED + 3))


def awaken(model):
    """Gives parameters that are one number everywhere (zeros of heads and biases, ones of norms, a layer scale of 1e-6) a
    seeded spread, without which whole branches would not reach the answer."""
    with torch.no_grad():
        for parameter in model.parameters():
            flat = parameter.detach().flatten()
            if not parameter.is_floating_point() or flat.numel() == 0 or flat[0] != flat[-1]:
                continue
            if flat.min() == flat.max():
                parameter.add_((0.1 if parameter.dim() <= 1 else 0.05) * torch.randn_like(parameter))
    return model


def settle(model, *inputs):
    """Puts a network with random weights into a state where signals keep their scale: every batch norm gets its
    statistics from what it sees in one run over `inputs`, and a seeded scale and shift. Evaluation mode after it."""
    generator = torch.Generator().manual_seed(SEED)

    def observe(norm, arguments):
        x = arguments[0].detach()
        axes = [axis for axis in range(x.dim()) if axis != 1]
        norm.running_mean.copy_(x.mean(axes))
        norm.running_var.copy_(x.var(axes, unbiased=False) + 1e-3)
        if norm.weight is not None:
            with torch.no_grad():
                norm.weight.copy_(0.8 + 0.4 * torch.rand(norm.weight.shape, generator=generator))
                norm.bias.copy_(0.2 * torch.randn(norm.bias.shape, generator=generator))

    model.eval()
    norms = [module for module in model.modules() if hasattr(module, "running_mean") and hasattr(module, "weight")]
    hooks = [norm.register_forward_pre_hook(observe) for norm in norms if norm.running_mean is not None]
    if hooks:
        with torch.no_grad():
            model(*inputs)
    for hook in hooks:
        hook.remove()
    return model


def silence(answer, at_least=1):
    """Why `answer` would agree with nearly anything (empty, not finite, the same number everywhere), in words; None if it
    would not."""
    numbers = [leaf for _, leaf in leaves(answer) if isinstance(leaf, torch.Tensor)]
    count = sum(tensor.numel() for tensor in numbers)
    if count < at_least:
        return f"an answer of {count} numbers proves nothing"
    for tensor in numbers:
        tensor = tensor.dequantize() if tensor.is_quantized else tensor
        if not torch.isfinite(tensor.float()).all():
            return "its answer is not finite"
        if tensor.numel() > 1 and tensor.is_floating_point() and tensor.float().std() < 1e-6:
            return "its answer is one number everywhere"
    return None
