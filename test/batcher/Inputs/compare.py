# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests in batches against the same requests alone: compare.py ARTEFACT [--dim NAME=A,B ...] [--close]

Every output must be the same bit for bit, or with --close within 1e-5 of the
largest magnitude: for models with kernels that sum in another order when the
batch is larger. Prints how many requests ran in how many batches.
"""
import argparse
import sys
import threading

import kiln
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("artefact")
parser.add_argument("--dim", action="append", default=[])
parser.add_argument("--requests", type=int, default=40)
parser.add_argument("--close", action="store_true")
arguments = parser.parse_args()
sizes = {name: [int(n) for n in values.split(",")] for name, values in (d.split("=") for d in arguments.dim)}
random = np.random.default_rng(7)
model = kiln.load(arguments.artefact, threads=1)
assert model.separable, model.batch_obstacle


shared = {}


def request():
    dims = {name: int(random.choice(values)) for name, values in sizes.items()}
    dims[model.batch] = int(random.integers(1, 4))
    inputs = {}
    for spec in model.inputs:
        shape = [dims[d.symbol] if d.size is None else d.size for d in spec.dims]
        if spec.dtype.kind == "f":
            inputs[spec.name] = random.uniform(-1, 1, shape).astype(spec.dtype)
        else:
            inputs[spec.name] = random.integers(0, 2, shape).astype(spec.dtype)
        if all(d.symbol != model.batch for d in spec.dims):
            inputs[spec.name] = shared.setdefault(spec.name, inputs[spec.name])
    return inputs


def same(got, expected):
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    if not arguments.close or expected.dtype.kind != "f":
        return got.tobytes() == expected.tobytes()
    return np.allclose(got, expected, rtol=0, atol=1e-5 * max(1e-30, np.abs(expected).max()))


requests = [request() for _ in range(arguments.requests)]
alone = [model.run(inputs) for inputs in requests]
with kiln.Batcher(model, max_batch=16, max_wait_us=20000, workers=1) as batcher:
    # The worker calls back, and finds a queue when it returns. A request that is
    # done before it has its callback is tried again.
    filled, stuck = threading.Event(), threading.Event()

    def hold(_):
        if threading.current_thread() is not threading.main_thread():
            stuck.set()
            filled.wait(60)

    plugs = 0
    while not stuck.is_set():
        plug = batcher.submit(requests[0])
        plug.add_done_callback(hold)
        plugs += 1
        plug.result(timeout=60)
        stuck.wait(0.1)
    futures = [batcher.submit(inputs) for inputs in requests]
    filled.set()
    together = [future.result(timeout=300) for future in futures]
    stats = batcher.stats()
wrong = [
    (i, name)
    for i, (got, expected) in enumerate(zip(together, alone))
    for name in expected
    if not same(got[name], expected[name])
]
batches = stats["batches"] - plugs
print(f"{len(requests)} requests in {batches} batches")
if batches > len(requests) // 2:
    sys.exit("no two requests shared a batch")
if wrong:
    i, name = wrong[0]
    difference = np.abs(together[i][name].astype(float) - alone[i][name].astype(float)).max()
    sys.exit(f"{len(wrong)} outputs differ; request {i}, '{name}': by up to {difference}")
