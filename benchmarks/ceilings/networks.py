"""Networks as lists of steps that ceiling.cpp runs, each written by hand after the module whose weights it takes: batch
norms folded, what follows a product inside of it, attention's scale in its weights."""

import numpy
import torch
from torch import nn


class Steps:
    """The steps so far, and the numbers that they refer to, in one piece."""

    def __init__(self, layout, input_dims):
        self.steps = []
        self.description = {"layout": layout, "input": "input", "input_dims": list(input_dims), "steps": self.steps}
        self._numbers = []
        self._count = 0
        self._names = 0

    @property
    def numbers(self):
        return numpy.concatenate(self._numbers)

    def end(self, output):
        self.description["output"] = output

    def constant(self, tensor):
        values = tensor.detach().contiguous().numpy()
        # Each begins at a line of the cache.
        padded = numpy.zeros(-(-values.size // 16) * 16, numpy.float32)
        padded[: values.size] = values.reshape(-1)
        self._numbers.append(padded)
        self._count += padded.size
        return {"offset": self._count - padded.size, "dims": list(values.shape)}

    def add(self, step, out=None, **fields):
        """A step, which gives the value of that name. Its own name is a new one if it is given none."""
        if out is None:
            self._names += 1
            out = f"value{self._names}"
        self.steps.append({"step": step, "out": out, **fields})
        return out

    def convolution(self, value, convolution, norm=None, function="", onto=None):
        """`onto`: the value that the result is added to, and takes the place of."""
        weight, bias = folded(convolution, norm)
        if (groups := convolution.groups) > 1:
            weight = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
        return self.add("convolution", onto, adds=onto is not None, function=function, weight=self.constant(weight),
                        bias=self.constant(bias), stride=list(convolution.stride), pad=list(convolution.padding),
                        **{"in": value})

    def pool(self, value, function, window, stride=1, pad=0):
        return self.add("pool", function=function, window=[window] * 2, stride=[stride] * 2, pad=[pad] * 2, **{"in": value})

    def linear(self, value, weight, bias, function="", onto=None):
        return self.add("linear", onto, adds=onto is not None, function=function,
                        weight=self.constant(weight.t()), bias=self.constant(bias[None]), **{"in": value})

    def multiply(self, value, other, out=None):
        return self.add("binary", out, function="multiply", **{"in": value, "with": other})

    def layer_norm(self, value, norm):
        return self.add("layer_norm", epsilon=norm.eps, weight=self.constant(norm.weight), bias=self.constant(norm.bias),
                        **{"in": value})

    def view(self, value, dims, strides, offset=0):
        return self.add("view", dims=list(dims), strides=list(strides), offset=offset, **{"in": value})


def folded(convolution, norm):
    """Weight and bias of a convolution with the batch norm behind it."""
    weight = convolution.weight
    bias = torch.zeros(weight.shape[0]) if convolution.bias is None else convolution.bias
    if norm is None:
        return weight, bias
    scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    return weight * scale.reshape(-1, 1, 1, 1), (bias - norm.running_mean) * scale + norm.bias


def resnet(module, layout, image):
    steps = Steps(layout, image)
    value = steps.convolution("input", module.conv1, module.bn1, "relu")
    value = steps.pool(value, "max", 3, 2, 1)
    size = image[-1] // 4
    for stage in (module.layer1, module.layer2, module.layer3, module.layer4):
        for block in stage:
            inner = steps.convolution(value, block.conv1, block.bn1, "relu")
            inner = steps.convolution(inner, block.conv2, block.bn2, "relu")
            size //= block.conv2.stride[0]
            onto = value if block.downsample is None else steps.convolution(value, *block.downsample)
            value = steps.convolution(inner, block.conv3, block.bn3, "relu", onto)
    value = steps.pool(value, "average", size)
    steps.end(steps.convolution(value, as_convolution(module.fc)))
    return steps


def as_convolution(linear):
    """A fully connected layer of an image of one pixel, which keeps whatever layout that has."""
    convolution = nn.Conv2d(linear.in_features, linear.out_features, 1)
    convolution.weight = nn.Parameter(linear.weight[:, :, None, None])
    convolution.bias = linear.bias
    return convolution


FUNCTIONS = {nn.ReLU: "relu", nn.Hardswish: "hardswish", nn.Identity: ""}


def mobilenet_v3(module, layout, image):
    steps = Steps(layout, image)

    def normalized(value, layer, onto=None):
        function = FUNCTIONS[type(layer[2])] if len(layer) > 2 else ""
        return steps.convolution(value, layer[0], layer[1], function, onto)

    value, size = normalized("input", module.features[0]), image[-1] // 2
    for block in module.features[1:-1]:
        inner = value
        for layer in block.block[:-1]:
            if hasattr(layer, "fc1"):  # squeeze and excitation
                gate = steps.pool(inner, "average", size)
                gate = steps.convolution(gate, layer.fc1, function="relu")
                gate = steps.convolution(gate, layer.fc2, function="hardsigmoid")
                inner = steps.multiply(inner, gate, inner)
            else:
                inner = normalized(inner, layer)
                size //= layer[0].stride[0]
        value = normalized(inner, block.block[-1], value if block.use_res_connect else None)
    value = normalized(value, module.features[-1])
    value = steps.pool(value, "average", size)
    value = steps.convolution(value, as_convolution(module.classifier[0]), function="hardswish")
    steps.end(steps.convolution(value, as_convolution(module.classifier[3])))
    return steps


def vision_transformer(module, layout, image):
    steps = Steps("channels_last", image)
    width, side = module.embed_dim, image[-1] // module.patch_embed.proj.kernel_size[0]
    tokens = side * side + 1
    embedding = steps.convolution("input", module.patch_embed.proj)
    value = steps.add("space", dims=[tokens, width])
    steps.add("constant", steps.view(value, [1, width], [width, 1]),
              value=steps.constant(module.cls_token[0] + module.pos_embed[0, :1]))
    steps.add("binary", steps.view(value, [tokens - 1, width], [width, 1], width), function="add",
              constant=steps.constant(module.pos_embed[0, 1:]),
              **{"in": steps.view(embedding, [tokens - 1, width], [width, 1])})
    for block in module.blocks:
        heads = block.attn.num_heads
        size = width // heads
        normed = steps.layer_norm(value, block.norm1)
        scale = torch.ones(3 * width)
        scale[:width] = block.attn.scale
        all_three = steps.linear(normed, block.attn.qkv.weight * scale[:, None], block.attn.qkv.bias * scale)
        query = steps.view(all_three, [heads, tokens, size], [size, 3 * width, 1])
        key = steps.view(all_three, [heads, size, tokens], [size, 1, 3 * width], width)
        values = steps.view(all_three, [heads, tokens, size], [size, 3 * width, 1], 2 * width)
        scores = steps.add("product", **{"in": query, "with": key})
        scores = steps.add("softmax", scores, **{"in": scores})
        mixed = steps.add("space", dims=[tokens, width])
        steps.add("product", steps.view(mixed, [heads, tokens, size], [size, width, 1]), **{"in": scores, "with": values})
        steps.linear(mixed, block.attn.proj.weight, block.attn.proj.bias, onto=value)
        normed = steps.layer_norm(value, block.norm2)
        inner = steps.linear(normed, block.mlp.fc1.weight, block.mlp.fc1.bias, "gelu")
        steps.linear(inner, block.mlp.fc2.weight, block.mlp.fc2.bias, onto=value)
    last = steps.layer_norm(steps.view(value, [1, width], [width, 1]), module.norm)
    steps.end(steps.linear(last, module.head.weight, module.head.bias))
    return steps


def layers(module, layout, image):
    """Fully connected layers with relu between them, in loops of our own."""
    steps = Steps(layout, image)
    for layer in module:
        if isinstance(layer, nn.Linear):
            steps.add("layer", "none", weight=steps.constant(layer.weight.t()), bias=steps.constant(layer.bias))
    steps.end("input")
    return steps


def written(module, layout, input_dims):
    """The steps of a module; None of one that is not written here. `layout` is "channels_last" or "blocked"."""
    if isinstance(module, nn.Sequential) and len(input_dims) == 2 and input_dims[0] == 1 and all(
            isinstance(layer, nn.ReLU) or isinstance(layer, nn.Linear) and layer.weight.shape == (64, 64) for layer in module):
        return layers(module, layout, input_dims)
    networks = {"ResNet": resnet, "MobileNetV3": mobilenet_v3, "VisionTransformer": vision_transformer}
    network = networks.get(type(module).__name__)
    # The residual blocks of smaller residual networks have two convolutions, and torchvision's transformer other names.
    if network is None or (network is resnet and not hasattr(module.layer1[0], "conv3")) or (
            network is vision_transformer and not hasattr(module, "patch_embed")):
        return None
    return network(module, layout, input_dims)
