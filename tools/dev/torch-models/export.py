# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model to export is, and how it becomes a file."""
import contextlib
import io
import warnings
import zlib
from dataclasses import dataclass

import torch


@dataclass
class Export:
    module: torch.nn.Module
    inputs: dict  # name of forward's argument -> an example tensor
    dims: dict  # name -> {axis: name of the dynamic dimension}
    outputs: tuple = ()  # of a transformers model: those that are wanted
    opset: int = None  # the exporter's own choice


class Flat(torch.nn.Module):
    """Takes and gives plain tensors, in order: the one signature that every exporter knows."""

    def __init__(self, model):
        super().__init__()
        self.model, self.inputs, self.outputs = model.module, list(model.inputs), model.outputs

    def forward(self, *values):
        result = self.model(**dict(zip(self.inputs, values)))
        return tuple(result[name] for name in self.outputs) if self.outputs else result


def unsettle(module):
    """Gives the parameters and statistics that start constant a seeded spread: with scales of one, biases of zero and
    layer scales of 1e-6 a model would not show a wrong order of channels or a block left out."""
    with torch.no_grad():
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            if not tensor.is_floating_point() or tensor.numel() < 2 or tensor.min() != tensor.max():
                continue
            noise = 0.1 * torch.randn_like(tensor)
            tensor.copy_(1 + noise.clamp(-0.5, 0.5) if tensor.max() == 1 else noise)


def write(name, build, path):
    """Exports what build() makes to path. The name seeds the weights."""
    torch.manual_seed(zlib.crc32(name.encode()))
    model = build()
    unsettle(model.module)
    # *values is one parameter, which is a tuple.
    shapes = (tuple(model.dims[name] for name in model.inputs),)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Flat(model).eval(), tuple(model.inputs.values()), str(path), dynamo=True, external_data=False,
            input_names=list(model.inputs), dynamic_shapes=shapes, opset_version=model.opset,
        )
