# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""#include lines against the layers of docs/architecture.md."""
import re

from tree import C_FAMILY, Finding

NAME = "arrows"
WHY = "dependences go one way (docs/architecture.md, Layers and folders)"
MEND = "move the code to the layer that may know both, or change LAYERS in tools/lint/rules/arrows.py with the page"

# Layer: (its files, the layers whose headers it may include besides its own). The first match counts.
IR = ["support", "ir"]
LAYERS = {
    "abi": (r"include/kiln-c/", []),
    "support": (r"(lib|include/kiln)/Support/", []),
    "import-facet": (r"dialects/[^/]+/ops/.*\.import\.cpp$", IR + ["import-table", "reference"]),
    "reference-facet": (r"dialects/[^/]+/ops/.*\.reference\.cpp$", IR + ["reference"]),
    "kernels-facet": (r"dialects/[^/]+/ops/.*\.kernels\.cpp$", IR + ["codegen", "kernels"]),
    "plan": (r"dialects/Plan/", IR),
    "ir": (r"dialects/", ["support"]),
    "import-onnx": (r"(lib|include/kiln)/Import/ONNX/", ["support"]),
    "import-table": (r"(lib|include/kiln)/Import/", IR + ["import-onnx", "reference"]),
    "reference": (r"(lib|include/kiln)/Reference/", IR),
    "codegen": (r"(lib|include/kiln)/Codegen/", IR),
    "kernels": (r"(lib|include/kiln)/Kernels/", IR + ["codegen"]),
    "transforms": (
        r"(lib|include/kiln)/Transforms/",
        IR + ["plan", "reference", "kernels", "codegen"],
    ),
    "patterns": (
        r"(lib/Patterns|include/kiln/Patterns|patterns)/",
        IR + ["reference", "kernels", "codegen"],
    ),
    # What nvcc and clang compile at a user's place: it knows no header of the compiler.
    "cuda-device": (r"lib/Target/CUDA/(Device/|Kernels/.*\.cuh?$)", ["cuda-shim", "cuda-config"]),
    # Plain C++ that kernels and the compiler share.
    "cuda-config": (r"lib/Target/CUDA/Kernels/(.*\.config|Common/Config)\.h$", []),
    "cuda-shim": (r"runtime/drivers/cudasim/shim/", []),
    "target": (
        r"(lib|include/kiln)/Target/",
        IR + ["plan", "reference", "codegen", "kernels", "abi", "cuda-config"],
    ),
    "pipeline": (r"(lib|include/kiln)/Pipeline/", ["*"]),
    "compiler-c-api": (r"lib/CAPI/", ["*"]),
    # The runtime stands apart: it is inside every artefact.
    # The bytes of the runtime, as the compiler finds them.
    "runtime-embed": (r"runtime/embed/", ["target"]),
    "runtime": (r"runtime/(?!embed/)", ["abi", "cuda-shim"]),
    "tools": (r"tools/", ["*"]),
    "tests": (r"(test|unittests|benchmarks)/", ["*"]),
}
# Headers from outside, and the only layers that may include them. The first match counts.
OUTSIDE = [
    (r"(onnx|google/protobuf)/", {"import-onnx", "tests"}),
    (r"lld/", {"target"}),
    (r"mlir/", set(LAYERS) - {"abi", "support", "runtime", "import-onnx"}),
    (r"(llvm|llvm-c|clang)/", set(LAYERS) - {"abi", "runtime"}),
]
INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')


def layer_of(path):
    for name, (pattern, _) in LAYERS.items():
        if re.match(pattern, path):
            return name
    return None


def home(include, path):
    """The repository path that an include line means, None for a header from outside."""
    if include.startswith("kiln/cuda/"):
        return "lib/Target/CUDA/Device/" + include
    if include.startswith("kiln/cudasim/"):
        return "runtime/drivers/cudasim/shim/" + include
    if include.startswith(("kiln/", "kiln-c/")):
        return "include/" + include
    if include.startswith(("dialects/", "lib/", "runtime/", "tools/", "unittests/", "test/")):
        return include
    if "/" not in include and include.endswith((".h", ".inc")):
        return path.rsplit("/", 1)[0] + "/" + include
    return None


def check(tree):
    for path in tree.with_suffix(*C_FAMILY):
        layer = layer_of(path)
        includes = [(n, m.group(1)) for n, l in tree.lines(path) if (m := INCLUDE.match(l))]
        if layer is None:
            yield Finding(path, 1, "this folder is in no layer of tools/lint/rules/arrows.py")
            continue
        allowed = LAYERS[layer][1]
        for number, include in includes:
            target = home(include, path)
            if target is not None:
                other = layer_of(target)
                if other != layer and other not in allowed and "*" not in allowed:
                    yield Finding(path, number, f"{layer} may not include {other}: {include}")
                continue
            for pattern, layers in OUTSIDE:
                if re.match(pattern, include):
                    if layer not in layers:
                        yield Finding(path, number, f"{layer} may not include {include}")
                    break


BAD = [
    {"lib/Support/Expr.cpp": '#include "mlir/IR/Builders.h"\n'},
    {"dialects/Kiln/ops/Cast/Cast.cpp": '#include "kiln/Import/ImportTable.h"\n'},
    {"dialects/Kiln/ops/Cast/Cast.reference.cpp": '#include "kiln/Codegen/Loops.h"\n'},
    {"dialects/Kiln/IR/KilnDialect.h": '#include "dialects/Plan/IR/PlanDialect.h"\n'},
    {"lib/Transforms/Fuse.cpp": '#include "onnx/onnx_pb.h"\n'},
    {"lib/Codegen/Loops.cpp": '#include "kiln/Target/CPU/Emit.h"\n'},
    {"runtime/kilnrt/Run.c": '#include "kiln/Support/Expr.h"\n'},
    {"lib/Pipeline/Pipeline.cpp": "#include <lld/Common/Driver.h>\n"},
    {"lib/Target/CUDA/Kernels/Softmax/Softmax.cuh": '#include "kiln/Codegen/Loops.h"\n'},
    {"lib/Target/CUDA/Kernels/Softmax/Softmax.config.h": '#include "kiln/cuda/Device.h"\n'},
    {"src/New.cpp": "int x;\n"},
]
GOOD = [
    {"dialects/Kiln/ops/Cast/Cast.import.cpp": '#include "kiln/Import/ImportTable.h"\n'},
    {"dialects/Kiln/ops/Cast/Cast.cpp": '#include "Cast.h"\n#include "kiln/Support/Expr.h"\n'},
    {"lib/Import/ONNX/Load.cpp": '#include "onnx/onnx_pb.h"\n#include <vector>\n'},
    {"runtime/kilnrt/Run.c": '#include "kiln-c/ModuleABI.h"\n#include <stdio.h>\n'},
    {"lib/Target/CUDA/Kernels/Softmax/Softmax.cuh": '#include "kiln/cuda/Device.h"\n'},
    {"lib/Target/CUDA/Kernels/Softmax/Softmax.cuh": '#include "Softmax.config.h"\n'},
]
