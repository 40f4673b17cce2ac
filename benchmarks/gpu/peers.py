#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One engine beside Kiln, in a process of its own; prints {"us": ...}. Called by benchmarks/gpu/run.

usage: peers.py torch-op CASE             an operator, by CUDA events
       peers.py onnxruntime|torch MODEL INPUTS DEVICE SECONDS   a model, host to host as kiln-run --bench has it
"""
import json
import sys
import time


def median(values):
    return sorted(values)[len(values) // 2]


def of_events(torch, call):
    for _ in range(20):
        call()
    times = []
    for _ in range(100):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return median(times)


def torch_op(case):
    import torch
    import torch.nn.functional as functional

    # As Kiln computes: no tf32 unless it was asked for.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    tensors = [torch.rand(shape, device="cuda") * 2 - 1 for shape in case["shapes"]]
    calls = {
        "MatMul": lambda: torch.matmul(*tensors),
        "Conv": lambda: functional.conv2d(*tensors, padding=case.get("pads", 0)),
        "Softmax": lambda: functional.softmax(tensors[0], -1),
        "LayerNormalization": lambda: functional.layer_norm(tensors[0], tensors[1].shape, tensors[1], tensors[2]),
    }
    return of_events(torch, calls[case["op"]])


def timed(call, seconds):
    for _ in range(5):
        call()
    times, stop = [], time.perf_counter() + seconds
    while time.perf_counter() < stop or len(times) < 5:
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e6)
    return median(times)


def of_model(engine, path, options, device, seconds):
    import numpy as np

    inputs = {name: np.load(file) for name, file in (text.split("=", 1) for text in options[1::2])}
    number = int((device.split(":") + ["0"])[1])
    if engine == "onnxruntime":
        import onnxruntime

        if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
            sys.exit("this onnxruntime has no CUDA provider")
        session = onnxruntime.InferenceSession(path, providers=[("CUDAExecutionProvider", {"device_id": number})])
        return timed(lambda: session.run(None, inputs), seconds)
    import onnx2torch
    import torch

    module = onnx2torch.convert(path).eval().to(f"cuda:{number}")

    def call():
        with torch.no_grad():
            results = module(*(torch.from_numpy(value).to(f"cuda:{number}") for value in inputs.values()))
        for result in results if isinstance(results, (tuple, list)) else [results]:
            result.cpu()

    return timed(call, seconds)


if __name__ == "__main__":
    if sys.argv[1] == "torch-op":
        print(json.dumps({"us": torch_op(json.loads(sys.argv[2]))}))
    else:
        print(json.dumps({"us": of_model(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4], float(sys.argv[5]))}))
