# Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs models that kilnc has compiled.

    import kiln
    model = kiln.load("model.so", threads=2)
    y = model.run({"x": array})["y"]

Inputs are numpy arrays, anything with __dlpack__ in CPU memory, or nested lists.
They are read where they lie; strides are no obstacle. Outputs are new numpy
arrays. A model may be used from several threads at once.

    with kiln.Batcher(model, max_batch=16) as batcher:
        futures = [batcher.submit({"x": rows}) for rows in requests]
        results = [future.result() for future in futures]
"""

from kiln._batcher import Batcher
from kiln._model import Dim, Error, Model, Status, TensorSpec, load

__all__ = ["Batcher", "Dim", "Error", "Model", "Status", "TensorSpec", "load"]
__version__ = "0.1.0"
