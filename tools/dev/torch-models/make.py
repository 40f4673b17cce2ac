# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the exported models: see tools/dev/make-torch-models."""
import argparse
import hashlib
import logging
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

STARTED = int(os.environ.get("KILN_STARTED") or time.time())
HERE = Path(__file__).resolve().parent


def say(text):
    print(f"[{int(time.time()) - STARTED:4d} s] {text}", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(usage="tools/dev/make-torch-models [--list] [--force] [NAME…]")
    parser.add_argument("folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="the names")
    parser.add_argument("--force", action="store_true", help="export what is there again")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_intermixed_args()
    say("importing torch")
    import language
    import sound
    import vision
    from export import write

    models = {**language.MODELS, **sound.MODELS, **vision.MODELS}
    if options.list:
        print("\n".join(models))
        return 0
    unknown = [name for name in options.names if name not in models]
    if unknown:
        sys.exit(f"error: no model {', '.join(unknown)}; known: {', '.join(models)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    logging.disable(logging.WARNING)
    # Made by another state of these scripts or versions: made again.
    sources = b"".join(path.read_bytes() for path in sorted(HERE.glob("*.py")) if path.name != "make.py")
    versions = [f"{package} {version(package)}" for package in ("torch", "onnxscript", "timm", "transformers")]
    state = hashlib.sha256(sources + "\n".join(versions).encode()).hexdigest()

    wanted = options.names or list(models)
    failed = []
    for count, name in enumerate(wanted, 1):
        path, stamp = options.folder / f"{name}.onnx", options.folder / f".{name}.state"
        if options.force or not path.exists() or not stamp.exists() or stamp.read_text() != state:
            say(f"torch models {count} of {len(wanted)}: {name}")
            new = options.folder / f".{name}.{os.getpid()}.onnx"
            try:
                write(name, models[name], new)
            except Exception as error:  # the exporter's: one model must not keep the others back
                failed.append(name)
                print(f"error: {name}: {type(error).__name__}: {str(error)[:2000]}", file=sys.stderr)
                new.unlink(missing_ok=True)
                continue
            new.rename(path)
            stamp.write_text(state)
            say(f"  {name}: {path.stat().st_size / 1e6:.1f} MB")
        print(path)
    if failed:
        sys.exit(f"error: not exported: {', '.join(failed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
