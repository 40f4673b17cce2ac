# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of benchmarks/gpu/run: those of the dry run, and one operator each for libraries to be compared with."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Of test/Inputs/models.py, with inputs.
MODELS = {
    "dense": ["--input", "x=random:1", "--shape", "x=70x12"],
    "affine": ["--input", "x=random:1", "--shape", "x=5x3"],
}


def model(name, folder):
    path = os.path.join(folder, name + ".onnx")
    subprocess.run([sys.executable, os.path.join(ROOT, "test", "Inputs", "models.py"), name, path], check=True)
    return path, MODELS[name]


def options_for(path, entry, folder):
    """kiln-run's options for a model of the corpus: each input a file."""
    import numpy as np
    import onnxruntime
    from corpus import assignments, input_dims, make_inputs

    # For names and types of inputs only.
    dims = input_dims(onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]), entry)
    sizes = dict(assignments(dims, entry)[0], **entry.get("bench", {}))
    options = []
    for i, (name, value) in enumerate(make_inputs(dims, sizes, 0).items()):
        file = os.path.join(folder, f"{os.path.basename(path)}.{i}.npy")
        np.save(file, value)
        options += ["--input", f"{name}={file}"]
    return options


LIBRARY_CASES = [
    {"name": "matmul-1024", "op": "MatMul", "shapes": [[1024, 1024], [1024, 1024]]},
    {"name": "softmax-4096x1024", "op": "Softmax", "shapes": [[4096, 1024]]},
    {"name": "matmul-4096", "op": "MatMul", "shapes": [[4096, 4096], [4096, 4096]]},
    {"name": "matmul-bert", "op": "MatMul", "shapes": [[512, 768], [768, 3072]]},
    {"name": "matmul-skinny", "op": "MatMul", "shapes": [[8, 4096], [4096, 4096]]},
    {"name": "conv-3x3-64", "op": "Conv", "shapes": [[8, 64, 56, 56], [64, 64, 3, 3]], "pads": 1},
    {"name": "conv-1x1-256", "op": "Conv", "shapes": [[8, 256, 56, 56], [64, 256, 1, 1]], "pads": 0},
    {"name": "layernorm-4096x768", "op": "LayerNormalization", "shapes": [[4096, 768], [768], [768]]},
]


def library_model(case, folder, tiny):
    """The case as a model; `tiny`: the same with small dims, for the simulator."""
    import models as m  # test/Inputs/models.py

    shapes = [[min(d, 16) for d in shape] for shape in case["shapes"]] if tiny else case["shapes"]
    names = [chr(ord("a") + i) for i in range(len(shapes))]
    attributes = {"MatMul": {}, "Softmax": {"axis": -1}, "LayerNormalization": {"axis": -1},
                  "Conv": {"pads": [case.get("pads", 0)] * 4, "kernel_shape": shapes[-1][2:]}}[case["op"]]
    result = {"MatMul": lambda: [shapes[0][0], shapes[1][1]], "Conv": lambda: [shapes[0][0], shapes[1][0], *shapes[0][2:]]}
    out = result.get(case["op"], lambda: shapes[0])()
    inputs = [m.value(name, m.FLOAT, shape) for name, shape in zip(names, shapes)]
    path = os.path.join(folder, case["name"] + ".onnx")
    with open(path, "wb") as file:
        file.write(m.model([m.node(case["op"], names, ["y"], **attributes)], inputs, [m.value("y", m.FLOAT, out)]))
    return path, [word for name in names for word in ("--input", f"{name}=random:1")]
