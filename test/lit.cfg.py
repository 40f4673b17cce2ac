# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How lit runs the tests below test/.

Substitutions   %python   the Python of tools/dev/setup, with numpy, onnx, onnxruntime and Kiln's package
                %cc, %cxx the compilers of the build
                %model    writes a small model: %model NAME FILE (test/Inputs/models.py)
                %exits    %exits CODE COMMAND: passes when the command ends so (test/Inputs/exits.py)
                %build    the build's folder
                %kiln_src the checkout;  %models the folder of fetched and seeded models
Features        full      unless the quick tier was asked for:  // REQUIRES: full   ends in seconds, not in moments
                slow      with the slow tier only:              // REQUIRES: slow
                models    %models holds what tools/dev/get-models fetches and tools/dev/make-models writes
                torch-models                                    and what tools/dev/make-torch-models exports
                asan, tsan, ubsan                               the build has that sanitizer
                python    %python is there
                cudasim   the build has the simulator of GPUs
                nvcc, gpu, pdll, espeak, openssl, script, gcc   that tool is on this machine
"""
import os
import shlex
import shutil
import sys

# A module, not a class of this file: lit's worker processes must be able to import it.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lit_format import QuotedShTest  # noqa: E402

config.name = "Kiln"
# lit's own shell: no differences between one machine's /bin/sh and another's.
config.test_format = QuotedShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.join(config.kiln_binary_dir, "test")

path = os.pathsep.join([config.kiln_tools_dir, config.llvm_tools_dir, config.environment["PATH"]])
config.environment["PATH"] = path
config.environment["FILECHECK_OPTS"] = (
    "-enable-var-scope --allow-unused-prefixes=false --dump-input-filter=all"
)
config.environment["PYTHONPATH"] = os.path.join(config.kiln_source_dir, "runtime", "python")
# Where that package finds libkiln.
config.environment["KILN_LIBRARY"] = os.path.join(config.kiln_binary_dir, "lib", "libkiln.so")
# Tests neither read nor fill the user's compile cache.
config.environment["KILN_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "OPENBLAS_CORETYPE"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

user_cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
cache = os.environ.get("KILN_CACHE") or os.path.join(user_cache, "kiln")
models = os.path.join(cache, "models")
for name, value in (
    ("%python", config.kiln_python),
    ("%cc", config.kiln_cc),
    ("%cxx", config.kiln_cxx),
    ("%build", config.kiln_binary_dir),
    ("%kiln_src", config.kiln_source_dir),
    ("%models", models),
):
    config.substitutions.append((name, shlex.quote(value)))
for name, script in (("%model", "models.py"), ("%exits", "exits.py")):
    script = os.path.join(config.test_source_root, "Inputs", script)
    command = f"{shlex.quote(config.kiln_python)} -B {shlex.quote(script)}"
    config.substitutions.append((rf"{name}\b", command))

tier = lit_config.params.get("tier", "full")
features = config.available_features
features.update({"quick": [], "full": ["full"], "slow": ["full", "slow"]}[tier])
for sanitizer, feature in (("address", "asan"), ("thread", "tsan"), ("undefined", "ubsan")):
    if sanitizer in config.kiln_sanitize.split(","):
        features.add(feature)
if config.kiln_python and os.path.exists(config.kiln_python):
    features.add("python")
if os.path.exists(os.path.join(config.kiln_binary_dir, "lib", "libkiln-cudasim.so")):
    features.add("cudasim")
if all(os.path.isdir(os.path.join(models, part)) for part in ("magika", "seeded")):
    features.add("models")
if os.path.isdir(os.path.join(models, "torch")):
    features.add("torch-models")
for tool, feature in (
    ("nvcc", "nvcc"),
    ("nvidia-smi", "gpu"),
    ("mlir-pdll", "pdll"),
    ("espeak-ng", "espeak"),
    ("openssl", "openssl"),
    ("script", "script"),
    ("g++", "gcc"),
):
    if shutil.which(tool, path=path):
        features.add(feature)
