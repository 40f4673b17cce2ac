# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The real models and the inputs that tests and benchmarks run them on."""
import fnmatch
import glob
import json
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CACHE = os.environ.get("KILN_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "kiln")
# Two or more values of every dynamic dimension; batch 1 and 3.
SIZES = {
    "n": [1, 3], "batch": [1, 3], "N": [1, 3], "batch_size": [1, 3],
    "h": [64, 96], "w": [96, 160], "height": [32, 64], "width": [64, 48], "seq": [16, 33], "sequence": [16, 33], "seq_len": [16, 33], "time": [5, 12],
    "past": [5, 9], "samples": [800, 1203],
}
# Sizes that benchmarks take where the first of the above are too small to be like use.
BENCH = {"unet": {"height": 256, "width": 256}, "token-encoder": {"sequence": 128}}
QUICK = ["magika", "ppocr4-cls", "silero-16k", "seeded/tagger", "seeded/mobilenetv2"]
# What a random tensor of the type would break: indices and masks.
INTEGERS = {"mask": (0, 2), "attention_mask": (0, 2), "sr": (16000, 16001), "bytes": (0, 257),
            "token_type_ids": (0, 2)}

# Magnitudes below this are not compared relative to themselves. ONNX Runtime's
# logistic function stops at -18, so its tiny probabilities are not exact.
FLOORS = {"ppocr4-det": 1e-2, "ppocr6-det-small": 1e-2}


def models():
    found = {}
    with open(os.path.join(ROOT, "tools", "dev", "models.json")) as file:
        for entry in json.load(file)["models"]:
            found[entry["name"]] = (os.path.join(CACHE, "models", entry["name"], "model.onnx"), entry)
    for folder in ("seeded", "torch"):
        for path in sorted(glob.glob(os.path.join(CACHE, "models", folder, "*.onnx"))):
            name = os.path.basename(path)[:-5]
            found[f"{folder}/{name}"] = (path, {"bench": BENCH.get(name, {})})
    return found


def chosen(name, tier, pattern):
    """Whether a run of the tier looks at the model: those of tools/dev/make-torch-models only when asked for."""
    # Constant weights: the conformance suite checks them on ONNX's own data.
    if name.startswith("light-") or not fnmatch.fnmatch(name, pattern):
        return False
    if name.startswith("torch/"):
        return tier == "slow" or pattern.startswith("torch/")
    return tier != "quick" or name in QUICK


def input_dims(session, entry):
    """Name -> (dtype, dims): as the list of models says, else as the model declares."""
    dims = {}
    for meta in session.get_inputs():
        declared = [d if isinstance(d, int) and d > 0 else (d or f"{meta.name}_{i}") for i, d in enumerate(meta.shape)]
        listed = entry.get("inputs", {}).get(meta.name)
        dims[meta.name] = (meta.type, listed[1] if listed else declared)
    return dims


def assignments(dims, entry):
    """Sizes for the dynamic dims: all first values, then all second, then mixed."""
    names = sorted({d for _, shape in dims.values() for d in shape if isinstance(d, str)})
    if not names:
        return [{}]
    def size(name, i):
        values = entry.get("sizes", {}).get(name) or SIZES.get(name, [4, 7])
        return values[i % len(values)]
    picks = [{n: size(n, 0) for n in names}, {n: size(n, 1) for n in names}]
    if len(names) > 1:
        picks.append({n: size(n, i) for i, n in enumerate(names)})
    return picks


def make_inputs(dims, sizes, seed):
    import numpy as np

    rng = np.random.default_rng(seed)
    types = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
             "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_, "tensor(uint8)": np.uint8}
    inputs = {}
    for name, (kind, shape) in dims.items():
        concrete = [sizes.get(d, d) if isinstance(d, str) else d for d in shape]
        dtype = types[kind]
        if np.issubdtype(dtype, np.floating):
            inputs[name] = rng.uniform(-1, 1, concrete).astype(dtype)
        else:
            low, high = INTEGERS.get(name, (0, 100))
            value = rng.integers(low, high, concrete).astype(dtype)
            if "mask" in name and value.ndim > 1:
                value[..., 0] = 1  # a row that sees nothing has no defined answer
            inputs[name] = value
    return inputs
