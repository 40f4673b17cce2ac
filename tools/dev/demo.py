# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real models on real inputs, Kiln beside ONNX Runtime: see tools/dev/demo.

Each engine runs in a process of its own (the threads of one would disturb the other's times) and hands its outputs
and times back in a file.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

ROOT = Path(__file__).resolve().parent.parent.parent
LINE = "Kiln compiles ONNX models ahead of time"
ENGINES = {"kiln": "Kiln", "onnxruntime": "ONNX Runtime"}
# One thread each: the comparison that depends least on what else the machine does.
THREADS = 1


# Inputs


def default_files():
    wanted = ["README.md", "CMakeLists.txt", "include/kiln-c/ModuleABI.h", "tools/dev/demo"]
    wanted += ["tools/dev/demo.py", "CMakePresets.json", "build/bin/kilnc", "build/demo/line.png"]
    return [ROOT / path for path in wanted if (ROOT / path).exists()]


def file_features(path, config):
    """Magika's 2,048 numbers: the first and the last 1,024 bytes without the blanks around, padded."""
    data = path.read_bytes()
    size, block, padding = config["beg_size"], config["block_size"], config["padding_token"]
    first = data[:block].lstrip()[:size]
    last = data[-block:].rstrip()[-size:]
    features = np.full((2, size), padding, np.int32)
    features[0, : len(first)] = list(first)
    features[1, size - len(last) :] = list(last)
    return features.reshape(-1)


def draw_line(text, path):
    """Black on white, as a scanner gives it: Pillow's own font."""
    font = ImageFont.load_default(size=34)
    left, top, right, bottom = font.getbbox(text)
    picture = Image.new("RGB", (right - left + 24, bottom - top + 16), "white")
    ImageDraw.Draw(picture).text((12 - left, 8 - top), text, font=font, fill="black")
    picture.save(path)
    return picture


def line_tensor(picture):
    """[1, 3, 48, w], blue first, from -1 to 1."""
    width = round(picture.width * 48 / picture.height)
    pixels = np.asarray(picture.resize((width, 48), Image.Resampling.BILINEAR), np.float32)
    return np.ascontiguousarray((pixels[:, :, ::-1].transpose(2, 0, 1) / 127.5 - 1)[None])


# What the outputs mean


def file_types(scores, config):
    best = scores.argmax(axis=1)
    return [(config["target_labels_space"][i], float(row[i])) for i, row in zip(best, scores)]


def read_text(probabilities, characters):
    """CTC: the best character at each place, repeats once, blanks (number 0) dropped."""
    best = probabilities[0].argmax(axis=1)
    kept = (best != 0) & np.concatenate([[True], best[1:] != best[:-1]])
    text = "".join(characters[i] for i in best[kept]).strip()
    confidence = probabilities[0].max(axis=1)[kept]
    return text, float(confidence.mean()) if kept.any() else 0.0


def dictionary(model):
    import onnx

    properties = {p.key: p.value for p in onnx.load(model).metadata_props}
    return ["", *properties["character"].splitlines(), " "]


# Engines


def load(engine, name, options):
    """A function from named inputs to named outputs."""
    if engine == "kiln":
        import kiln

        return kiln.load(str(options.artefacts / f"{name}.so"), threads=THREADS).run
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = THREADS
    path = str(options.models / name / "model.onnx")
    session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda feeds: dict(zip(names, session.run(None, feeds)))


def milliseconds(function, feeds, seconds=1.0):
    """Median time of a call, over about a second."""
    for _ in range(5):
        function(feeds)
    times = []
    while sum(times) < seconds or len(times) < 10:
        start = time.perf_counter()
        function(feeds)
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def run_engine(options):
    """The child process: reads inputs, writes outputs and times."""
    result = {}
    with np.load(options.inputs) as inputs:
        for name, tensor in (("magika", "bytes"), ("ppocr4-rec", "x")):
            feeds = {tensor: inputs[name]}
            start = time.perf_counter()
            function = load(options.engine, name, options)
            (result[name],) = function(feeds).values()
            result[f"{name} first"] = 1e3 * (time.perf_counter() - start)
            one = {tensor: inputs[name][:1]}
            result[f"{name} median"] = milliseconds(function, one)
    np.savez(options.outputs, **result)


def results_of(engine, folder, options):
    command = [sys.executable, "-B", __file__, "--models", options.models, "--engine", engine]
    command += ["--artefacts", options.artefacts, "--inputs", folder / "inputs.npz"]
    command += ["--outputs", folder / f"{engine}.npz"]
    if subprocess.run(command, stdin=subprocess.DEVNULL).returncode:
        sys.exit(f"error: {ENGINES[engine]} failed; what it said stands above")
    with np.load(folder / f"{engine}.npz") as data:
        return dict(data)


# The page


def difference(results, name):
    values = [result[name] for result in results.values()]
    return max((float(np.abs(v - values[0]).max()) for v in values[1:]), default=None)


def print_times(results, name, what):
    for engine, result in results.items():
        print(
            f"  {ENGINES[engine]:13} {float(result[f'{name} median']):8.2f} ms a {what} (median), "
            f"{float(result[f'{name} first']):.0f} ms to load and run the first time"
        )
    apart = difference(results, name)
    if apart is not None:
        print(f"  largest difference of any probability: {apart:.1e}")


def show(results, files, characters, config, picture):
    """Prints what was found; false when the engines disagree."""
    agree = True
    print(f"\nWhat kind of file is it? (Magika, {len(files)} files in one batch)\n")
    widths = max(len(text) for text in files)
    types = {engine: file_types(result["magika"], config) for engine, result in results.items()}
    print("  " + " " * widths + "".join(f"  {ENGINES[engine]:22}" for engine in results))
    for row, text in enumerate(files):
        cells = [types[engine][row] for engine in results]
        agree &= len({label for label, _ in cells}) == 1
        print(f"  {text:{widths}}" + "".join(f"  {t:13}{100 * p:5.1f} %  " for t, p in cells))
    print()
    print_times(results, "magika", "file")

    print(f"\nWhat does the line say? (PP-OCRv4 recognition of {picture})\n")
    print(f"  {'drawn':13} {LINE}")
    texts = {e: read_text(result["ppocr4-rec"], characters) for e, result in results.items()}
    for engine, (text, confidence) in texts.items():
        print(f"  {ENGINES[engine]:13} {text}  ({100 * confidence:.1f} %)")
    agree &= len({text for text, _ in texts.values()}) == 1
    print()
    print_times(results, "ppocr4-rec", "line")
    print(f"\none thread each, on {processor()}")
    return agree


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "an unnamed processor"


def main():
    parser = argparse.ArgumentParser(usage="tools/dev/demo [FILE…]")
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--artefacts", type=Path, required=True)
    parser.add_argument("--engine", choices=ENGINES, action="append")
    parser.add_argument("--inputs", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--outputs", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_intermixed_args()
    if options.inputs:
        (options.engine,) = options.engine
        run_engine(options)
        return 0

    config = json.loads((options.models / "magika" / "config.json").read_text())
    options.artefacts.mkdir(parents=True, exist_ok=True)
    picture = options.artefacts / "line.png"
    tensor = line_tensor(draw_line(LINE, picture))
    files = options.files or default_files()
    try:
        features = np.stack([file_features(path, config) for path in files])
    except OSError as e:
        sys.exit(f"error: {e}")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        np.savez(folder / "inputs.npz", **{"magika": features, "ppocr4-rec": tensor})
        engines = options.engine or list(ENGINES)
        results = {engine: results_of(engine, folder, options) for engine in engines}
    names = [
        str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path) for path in files
    ]
    characters = dictionary(options.models / "ppocr4-rec" / "model.onnx")
    if not show(results, names, characters, config, os.path.relpath(picture)):
        print("error: Kiln and ONNX Runtime do not agree", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
