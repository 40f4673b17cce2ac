# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the seeded models: see tools/dev/make-models."""
import argparse
import hashlib
import os
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import convolutional  # noqa: E402
import light  # noqa: E402
import sequential  # noqa: E402
from graph import generator, model_bytes  # noqa: E402

STARTED = int(os.environ.get("KILN_STARTED") or time.time())
# What each model's bytes are: a line "sha256  name.onnx" each, as sha256sum writes and reads it.
HASHES = HERE / "seeded.sha256"
MODELS = {
    "resnet18": convolutional.resnet18,
    "resnet50": convolutional.resnet50,
    "mobilenetv2": convolutional.mobilenetv2,
    "unet": convolutional.unet,
    "bert-base": sequential.bert_base,
    "token-encoder": sequential.token_encoder,
    "tagger": sequential.tagger,
    **{name: (lambda name=name: light.seeded(name)) for name in light.NAMES},
}
# Largest values that integer inputs take; sizes for dynamic dims, two runs each.
LIMITS = {"input_ids": 8192, "tokens": 4096, "mask": 2, "attention_mask": 2}
SIZES = [
    {"batch": 1, "sequence": 7, "height": 64, "width": 96},
    {"batch": 3, "sequence": 33, "height": 40, "width": 32},
]


def say(text):
    print(f"[{int(time.time()) - STARTED:4d} s] {text}", file=sys.stderr, flush=True)


def make(name, path):
    data = model_bytes(MODELS[name]())
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_bytes(data)
    new.rename(path)
    return len(data)


def known_hashes():
    return dict(reversed(line.split()) for line in HASHES.read_text().splitlines())


def feeds(session, sizes, seed):
    result = {}
    for i in session.get_inputs():
        shape = [sizes.get(d, d) for d in i.shape]
        rng = generator(i.name, str(seed))
        if i.type == "tensor(int64)":
            result[i.name] = rng.integers(0, LIMITS[i.name], shape)
            if "mask" in i.name:
                result[i.name][:, 0] = 1  # a sentence has at least one token
        else:
            result[i.name] = rng.standard_normal(shape, dtype=np.float32)
    return result


def verify(name, path):
    """Text about what is wrong, or nothing; prints how the outputs look."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for sizes in SIZES if any(isinstance(d, str) for i in session.get_inputs() for d in i.shape) else SIZES[:1]:
        one, two = (session.run(None, feeds(session, sizes, seed)) for seed in (1, 2))
        for output, a, b in zip(session.get_outputs(), one, two):
            if not (np.isfinite(a).all() and np.isfinite(b).all()):
                return f"{output.name} is not finite"
            largest = float(np.abs(a).max())
            change = float(np.abs(a - b).max()) / (largest or 1.0)
            say(
                f"  {name}: {output.name} {list(a.shape)}: largest {largest:.3g}, "
                f"spread {float(a.std()):.3g}, another input changes it by {change:.2g} of that"
            )
            if change < 1e-3:
                return f"{output.name} hardly depends on the input"
            if largest > 1e4 or largest < 1e-4:
                return f"{output.name} exploded or vanished"
    if hashlib.sha256(path.read_bytes()).hexdigest() != known_hashes().get(path.name):
        return f"other bytes than {HASHES.name} says"
    return None


def main():
    parser = argparse.ArgumentParser(usage="tools/dev/make-models [--list] [--verify] [--force] [NAME…]")
    parser.add_argument("folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="the names")
    parser.add_argument("--verify", action="store_true", help="run each in ONNX Runtime")
    parser.add_argument("--force", action="store_true", help="make what is there again")
    parser.add_argument("--record", action="store_true", help=f"write {HASHES.name}")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_intermixed_args()
    if options.list:
        print("\n".join(MODELS))
        return 0
    unknown = [name for name in options.names if name not in MODELS]
    if unknown:
        sys.exit(f"error: no model {', '.join(unknown)}; known: {', '.join(MODELS)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    # Made by another state of these scripts: made again.
    sources = b"".join(path.read_bytes() for path in sorted(HERE.glob("*.py")) if path.name != "fetch.py")
    state = hashlib.sha256(sources).hexdigest()

    wanted = options.names or list(MODELS)
    wrong = []
    for count, name in enumerate(wanted, 1):
        path = options.folder / f"{name}.onnx"
        stamp = options.folder / f".{name}.state"
        if options.force or not path.exists() or not stamp.exists() or stamp.read_text() != state:
            say(f"seeded models {count} of {len(wanted)}: {name}")
            size = make(name, path)
            stamp.write_text(state)
            say(f"  {name}: {size / 1e6:.1f} MB")
        if options.record:
            hashes = known_hashes() if HASHES.exists() else {}
            hashes[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
            HASHES.write_text("".join(f"{h}  {n}\n" for n, h in sorted(hashes.items())))
        if options.verify and (text := verify(name, path)):
            wrong.append(f"{name}: {text}")
        print(path)
    for text in wrong:
        print("error:", text, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
