# Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libkiln through ctypes: the structs of include/kiln-c and the calls."""

import ctypes
import ctypes.util
import os
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_size_t, c_uint8, c_uint16
from ctypes import c_uint32, c_uint64, c_void_p

KILN_TENSOR_OPTIONAL = 1
KILN_TENSOR_LATE = 2
KILN_OPEN_TRUST_WEIGHTS = 1
KILN_OPEN_COPY_WEIGHTS = 2
DL_CPU = 1
DL_INT, DL_UINT, DL_FLOAT, DL_BFLOAT, DL_BOOL = 0, 1, 2, 4, 6


class DLDevice(ctypes.Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class DLManagedTensorVersioned(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, POINTER(DLManagedTensorVersioned))
DLManagedTensorVersioned._fields_ = [
    ("major", c_uint32),
    ("minor", c_uint32),
    ("manager_ctx", c_void_p),
    ("deleter", DELETER),
    ("flags", c_uint64),
    ("tensor", DLTensor),
]


class DimSpec(ctypes.Structure):
    _fields_ = [
        ("size", c_int64),
        ("lo", c_int64),
        ("hi", c_int64),
        ("text", c_char_p),
        ("symbol", c_char_p),
        ("reserved", c_uint64 * 3),
    ]


class TensorSpec(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("dtype", DLDataType),
        ("rank", c_uint32),
        ("dims", POINTER(DimSpec)),
        ("flags", c_uint32),
        ("batch_axis", c_int32),
    ]


class ModelInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("producer", c_char_p),
        ("target", c_char_p),
        ("features", c_char_p),
        ("devices", c_char_p),
        ("batch", c_char_p),
        ("digest", c_uint8 * 32),
        ("abi", c_uint32),
        ("module_abi", c_uint32),
        ("num_inputs", c_uint32),
        ("num_outputs", c_uint32),
        ("num_launches", c_uint32),
        ("num_weights", c_uint32),
        ("weights_size", c_uint64),
        ("separable", c_uint32),
        ("reserved", c_uint32),
        ("batch_obstacle", c_char_p),
    ]


class OpenOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("error", c_char_p),
        ("error_size", c_size_t),
        ("trusted_keys", c_char_p),
        ("num_trusted_keys", c_uint32),
        ("reserved2", c_uint32),
    ]


class ExecutorOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("threads", c_uint32),
        ("spin_us", c_uint32),
        ("pin", c_uint32),
        ("reserved", c_uint32),
        ("parallel_for", c_void_p),
        ("parallel_for_user", c_void_p),
        ("error", c_char_p),
        ("error_size", c_size_t),
        ("cpus", c_char_p),
    ]


class SessionOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("device", c_char_p),
        ("stream", c_void_p),
        ("threads", c_uint32),
        ("flags", c_uint32),
        ("executor", c_void_p),
    ]


class BatcherOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("workers", c_uint32),
        ("session_threads", c_uint32),
        ("executor", c_void_p),
        ("max_batch", c_uint32),
        ("queue_limit", c_uint32),
        ("max_wait_us", c_uint32),
        ("max_exec_us", c_uint32),
        ("spin_us", c_uint32),
        ("flags", c_uint32),
        ("rate", c_uint32),
        ("burst", c_uint32),
        ("slow_elements", c_uint64),
        ("target_p99_us", c_uint32),
        ("cooldown_ms", c_uint32),
        ("twin", c_void_p),
        ("error", c_char_p),
        ("error_size", c_size_t),
        ("cpus", c_char_p),
    ]


BATCH_DONE = ctypes.CFUNCTYPE(
    None, c_void_p, c_uint64, c_int32, POINTER(POINTER(DLTensor)), c_uint32
)


class SubmitOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("priority", c_uint32),
        ("deadline_us", c_uint32),
        ("block_us", c_uint32),
        ("reserved", c_uint32),
        ("done", BATCH_DONE),
        ("user", c_void_p),
    ]


_COUNTS = (
    "accepted completed failed cancelled expired late refused_full refused_rate refused_deadline "
    "batches rows splits retries closed_early by_callers direct slow_batches twin_batches busy_ns"
).split()


class BatcherStats(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        *((name, c_uint64) for name in _COUNTS),
        ("waiting", c_uint32),
        ("waiting_peak", c_uint32),
        ("batch_limit", c_uint32),
        ("level", c_uint32),
        ("degradations", c_uint64),
        ("recoveries", c_uint64),
        ("batch_sizes", c_uint64 * 17),
        ("queue_times", c_uint64 * 40),
        ("run_times", c_uint64 * 40),
        ("total_times", c_uint64 * 40),
        ("queue_ns", c_uint64),
        ("total_ns", c_uint64),
    ]


_CALLS = {
    "kiln_open": (c_int32, [c_char_p, POINTER(OpenOptions), POINTER(c_void_p)]),
    "kiln_public_key_read": (c_int32, [c_char_p, c_char_p, c_char_p, c_size_t]),
    "kiln_close": (c_int32, [c_void_p]),
    "kiln_artefact_api": (c_void_p, [c_void_p]),
    "kiln_shared_executor_create": (c_int32, [POINTER(ExecutorOptions), POINTER(c_void_p)]),
    "kiln_executor_destroy": (c_int32, [c_void_p]),
    "kiln_executor_threads": (c_uint32, [c_void_p]),
    "kiln_model_open": (c_int32, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "kiln_model_close": (c_int32, [c_void_p]),
    "kiln_model_get_info": (c_int32, [c_void_p, POINTER(ModelInfo)]),
    "kiln_model_input": (POINTER(TensorSpec), [c_void_p, c_uint32]),
    "kiln_model_output": (POINTER(TensorSpec), [c_void_p, c_uint32]),
    "kiln_model_error": (c_size_t, [c_void_p, c_char_p, c_size_t]),
    "kiln_session_create": (c_int32, [c_void_p, POINTER(SessionOptions), POINTER(c_void_p)]),
    "kiln_session_destroy": (c_int32, [c_void_p]),
    "kiln_session_error": (c_char_p, [c_void_p]),
    "kiln_run_managed": (
        c_int32,
        [
            c_void_p,
            POINTER(POINTER(DLTensor)),
            c_uint32,
            POINTER(POINTER(DLManagedTensorVersioned)),
            c_uint32,
            c_void_p,
        ],
    ),
    "kiln_status_name": (c_char_p, [c_int32]),
    "kiln_batcher_create": (c_int32, [c_void_p, POINTER(BatcherOptions), POINTER(c_void_p)]),
    "kiln_batcher_submit": (
        c_int32,
        [
            c_void_p,
            POINTER(POINTER(DLTensor)),
            c_uint32,
            c_void_p,
            c_uint32,
            POINTER(SubmitOptions),
            POINTER(c_uint64),
        ],
    ),
    "kiln_batcher_cancel": (c_int32, [c_void_p, c_uint64]),
    "kiln_batcher_close": (c_int32, [c_void_p, c_uint32]),
    "kiln_batcher_metrics_text": (c_size_t, [c_void_p, c_char_p, c_size_t]),
    "kiln_batcher_get_stats": (c_int32, [c_void_p, POINTER(BatcherStats)]),
}


def _find_library():
    """KILN_LIBRARY, then beside this package, then where the system looks."""
    path = os.environ.get("KILN_LIBRARY")
    if path:
        return path
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libkiln.so")
    if os.path.exists(beside):
        return beside
    return ctypes.util.find_library("kiln") or "libkiln.so.1"


def find_simulator():
    """Says where devices "sim:sm_NN" are, unless KILN_CUDASIM does: beside Kiln's library."""
    beside = os.path.join(os.path.dirname(_find_library()), "libkiln-cudasim.so")
    if os.path.exists(beside):
        os.environ.setdefault("KILN_CUDASIM", beside)


def _load_library():
    library = ctypes.CDLL(_find_library())
    for name, (result, arguments) in _CALLS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


lib = _load_library()
