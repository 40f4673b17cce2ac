# Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models, their specs, and the way of arrays into a run and out of it."""

import ctypes
import enum
import os
import threading
from collections import namedtuple
from ctypes import POINTER, byref, c_int64, c_void_p

import numpy

from kiln import _native
from kiln._native import lib

_ERROR_SIZE = 1024
_KEY_SIZE = 32


class Status(enum.IntEnum):
    """What a call returned, as in kiln-c/Status.h."""

    OK = 0
    INVALID_ARGUMENT = 1
    INVALID_SHAPE = 2
    INVALID_TYPE = 3
    CONSTRAINT = 4
    OUT_OF_MEMORY = 5
    BUSY = 6
    UNSUPPORTED = 7
    BUFFER_TOO_SMALL = 8
    ABI_MISMATCH = 9
    CPU_UNSUPPORTED = 10
    INVALID_ARTEFACT = 11
    CORRUPT = 12
    IO = 13
    INTERNAL = 14
    DEVICE_FAILED = 15
    UNSIGNED = 16
    UNTRUSTED = 17
    TAMPERED = 18
    DAMAGED = 20
    CIRCUIT_OPEN = 21
    NOT_FINITE = 22
    OVERLOADED = 32
    CANCELLED = 33
    DEADLINE = 34
    CLOSED = 35


class Error(RuntimeError):
    """A call failed; `status` says how, the text why."""

    def __init__(self, status, message):
        super().__init__(message)
        try:
            self.status = Status(status)
        except ValueError:  # of a newer library
            self.status = status


def _check(status, reason=b""):
    if status:
        raise Error(status, (reason or lib.kiln_status_name(status)).decode("utf-8", "replace"))


Dim = namedtuple("Dim", ["text", "size", "symbol", "lo", "hi"])
Dim.__doc__ = """A dimension: size is None unless static; lo and hi bound it (hi may be None)."""

TensorSpec = namedtuple(
    "TensorSpec", ["name", "dtype", "shape", "dims", "optional", "late", "batch_axis"]
)
TensorSpec.__doc__ = """An input or output. shape has a number for each static dim and its text
for the others; late: the dims are known only after a run; batch_axis: along which each row of
the batch has a piece, None when it has none or the model is not separable."""


# Types that ml_dtypes brings to numpy: (DLPack's code, bits) and what numpy has in their place without it.
_EXTENSIONS = {
    "bfloat16": ((_native.DL_BFLOAT, 16), "u2"),
    "float8_e4m3fn": ((10, 8), "u1"),
    "float8_e4m3fnuz": ((11, 8), "u1"),
    "float8_e5m2": ((12, 8), "u1"),
    "float8_e5m2fnuz": ((13, 8), "u1"),
    "float6_e2m3fn": ((15, 6), "u1"),
    "float6_e3m2fn": ((16, 6), "u1"),
    "float4_e2m1fn": ((17, 4), "u1"),
    "int4": ((_native.DL_INT, 4), "i1"),
    "uint4": ((_native.DL_UINT, 4), "u1"),
    "int2": ((_native.DL_INT, 2), "i1"),
    "uint2": ((_native.DL_UINT, 2), "u1"),
}


def _extension(name, otherwise):
    try:
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError):
        return numpy.dtype(otherwise)


def _numpy_type(dtype):
    for name, (key, otherwise) in _EXTENSIONS.items():
        if key == (dtype.code, dtype.bits):
            return _extension(name, otherwise)
    if dtype.code == _native.DL_BOOL:
        return numpy.dtype(numpy.bool_)
    kinds = {_native.DL_INT: "i", _native.DL_UINT: "u", _native.DL_FLOAT: "f"}
    if dtype.code not in kinds:
        raise Error(Status.UNSUPPORTED, f"element type {dtype.code} has no numpy counterpart")
    return numpy.dtype(f"{kinds[dtype.code]}{dtype.bits // 8}")


_CODES = {"i": _native.DL_INT, "u": _native.DL_UINT, "f": _native.DL_FLOAT, "b": _native.DL_BOOL}


def _dlpack_type(dtype):
    if dtype.name in _EXTENSIONS:
        return _native.DLDataType(*_EXTENSIONS[dtype.name][0], 1)
    if dtype.kind not in _CODES or not dtype.isnative:
        raise Error(Status.INVALID_TYPE, f"arrays of {dtype} cannot be inputs")
    return _native.DLDataType(_CODES[dtype.kind], dtype.itemsize * 8, 1)


def _spec(native):
    dims = []
    for dim in native.dims[: native.rank]:
        dims.append(
            Dim(
                text=dim.text.decode(),
                size=dim.size if dim.size >= 0 else None,
                symbol=dim.symbol.decode() if dim.symbol else None,
                lo=dim.lo,
                hi=dim.hi if dim.hi != 2**63 - 1 else None,
            )
        )
    return TensorSpec(
        name=native.name.decode(),
        dtype=_numpy_type(native.dtype),
        shape=tuple(dim.text if dim.size is None else dim.size for dim in dims),
        dims=tuple(dims),
        optional=bool(native.flags & _native.KILN_TENSOR_OPTIONAL),
        late=bool(native.flags & _native.KILN_TENSOR_LATE),
        batch_axis=native.batch_axis if native.batch_axis >= 0 else None,
    )


class _Handles:
    """Everything that libkiln gave out, in the order in which it may go. Models
    and the arrays they have produced keep it alive."""

    def __init__(self, path, threads, device, flags, keys):
        self.artefact = c_void_p()
        self.model = c_void_p()
        self.executor = c_void_p()
        self.sessions = []
        self.device = device.encode() if device is not None else None
        reason = ctypes.create_string_buffer(_ERROR_SIZE)
        options = _native.OpenOptions(
            struct_size=ctypes.sizeof(_native.OpenOptions),
            flags=flags,
            error=ctypes.cast(reason, ctypes.c_char_p),
            error_size=_ERROR_SIZE,
            trusted_keys=keys,
            num_trusted_keys=len(keys) // _KEY_SIZE,
        )
        status = lib.kiln_open(os.fsencode(path), byref(options), byref(self.artefact))
        _check(status, reason.value)
        api = lib.kiln_artefact_api(self.artefact)
        _check(lib.kiln_model_open(api, None, byref(self.model)))
        if threads < 0 or threads > 2**32 - 1:
            raise Error(Status.INVALID_ARGUMENT, f"threads: expected 0 to 4096, got {threads}")
        executor = _native.ExecutorOptions(
            struct_size=ctypes.sizeof(_native.ExecutorOptions),
            threads=threads,
            error=ctypes.cast(reason, ctypes.c_char_p),
            error_size=_ERROR_SIZE,
        )
        status = lib.kiln_shared_executor_create(byref(executor), byref(self.executor))
        _check(status, reason.value)

    def create_session(self):
        options = _native.SessionOptions(
            struct_size=ctypes.sizeof(_native.SessionOptions), device=self.device
        )
        if lib.kiln_executor_threads(self.executor) == 1:
            options.threads = 1
        else:
            options.executor = self.executor
        session = c_void_p()
        status = lib.kiln_session_create(self.model, byref(options), byref(session))
        if status:
            reason = ctypes.create_string_buffer(_ERROR_SIZE)
            lib.kiln_model_error(self.model, reason, _ERROR_SIZE)
            _check(status, reason.value)
        return session

    def __del__(self):
        for session in self.sessions:
            lib.kiln_session_destroy(session)
        lib.kiln_executor_destroy(self.executor)
        lib.kiln_model_close(self.model)
        lib.kiln_close(self.artefact)


class _Output:
    """Memory of one output, as numpy sees it."""

    def __init__(self, managed, handles):
        self._managed = managed
        self._handles = handles
        tensor = managed.contents.tensor
        self.dtype = _numpy_type(tensor.dtype)
        self.__array_interface__ = {
            "version": 3,
            "shape": tuple(tensor.shape[: tensor.ndim]),
            # Void, and viewed as the real type afterwards: the interface knows
            # no type that numpy was not born with.
            "typestr": f"|V{self.dtype.itemsize}",
            "data": (tensor.data, False),
        }

    def __del__(self):
        self._managed.contents.deleter(self._managed)


class _Argument:
    """A DLTensor over somebody's memory, and what keeps that memory."""

    def __init__(self, value, dtype):
        if not isinstance(value, numpy.ndarray) and hasattr(value, "__dlpack__"):
            self._from_dlpack(value)
            return
        array = value if isinstance(value, numpy.ndarray) else numpy.asarray(value, dtype=dtype)
        size = array.itemsize
        if any(stride % size for stride in array.strides):
            array = numpy.ascontiguousarray(array)
        rank = array.ndim
        self.keep = (
            array,
            (c_int64 * rank)(*array.shape),
            (c_int64 * rank)(*(stride // size for stride in array.strides)),
        )
        self.tensor = _native.DLTensor(
            data=array.ctypes.data,
            device=_native.DLDevice(_native.DL_CPU, 0),
            ndim=rank,
            dtype=_dlpack_type(array.dtype),
            shape=self.keep[1],
            strides=self.keep[2],
        )

    def _from_dlpack(self, value):
        try:
            capsule = value.__dlpack__(max_version=(1, 0))
        except TypeError:  # older than DLPack 1.0
            capsule = value.__dlpack__()
        api = ctypes.pythonapi
        is_valid = api.PyCapsule_IsValid
        is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
        pointer = api.PyCapsule_GetPointer
        pointer.restype = c_void_p
        pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        # The capsule is never consumed: its own destructor gives the tensor back.
        self.keep = (value, capsule)
        if is_valid(capsule, b"dltensor_versioned"):
            address = pointer(capsule, b"dltensor_versioned")
            managed = _native.DLManagedTensorVersioned.from_address(address)
            if managed.major != 1:
                raise Error(Status.UNSUPPORTED, f"a tensor of DLPack {managed.major}")
            self.tensor = managed.tensor
        else:
            self.tensor = _native.DLTensor.from_address(pointer(capsule, b"dltensor"))


class Model:
    """A compiled model; made by load()."""

    def __init__(self, handles):
        self._handles = handles
        self._lock = threading.Lock()
        self.inputs = self._specs(lib.kiln_model_input)
        self.outputs = self._specs(lib.kiln_model_output)
        self.threads = lib.kiln_executor_threads(handles.executor)
        info = _native.ModelInfo(struct_size=ctypes.sizeof(_native.ModelInfo))
        _check(lib.kiln_model_get_info(handles.model, byref(info)))
        self.name = info.name.decode()
        self.target = info.target.decode()
        self.producer = info.producer.decode()
        self.digest = bytes(info.digest).hex()
        self.batch = info.batch.decode() if info.batch else None
        self.separable = bool(info.separable)
        self.batch_obstacle = info.batch_obstacle.decode() if info.batch_obstacle else None
        # Fails now rather than at the first run when the device is not there.
        handles.sessions.append(handles.create_session())
        self._free = list(handles.sessions)

    def __repr__(self):
        def text(specs):
            return ", ".join(f"{spec.name}: {spec.dtype}{list(spec.shape)}" for spec in specs)

        return f"<kiln.Model {self.name}({text(self.inputs)}) -> ({text(self.outputs)})>"

    def run(self, inputs):
        """Runs the model on `inputs`, a dict by name or a sequence in order, and
        returns a dict of new arrays by output name. Raises kiln.Error."""
        arguments = self._arguments(inputs)
        pointers = (POINTER(_native.DLTensor) * len(arguments))()
        for index, argument in enumerate(arguments):
            if argument is not None:
                pointers[index] = ctypes.pointer(argument.tensor)
        results = (POINTER(_native.DLManagedTensorVersioned) * len(self.outputs))()
        session = self._take_session()
        try:
            status = lib.kiln_run_managed(
                session, pointers, len(pointers), results, len(results), None
            )
            _check(status, lib.kiln_session_error(session) if status else b"")
        finally:
            with self._lock:
                self._free.append(session)
        outputs = [_Output(result, self._handles) for result in results]
        return {
            spec.name: numpy.asarray(output).view(output.dtype)
            for spec, output in zip(self.outputs, outputs)
        }

    __call__ = run

    def _specs(self, get):
        specs = []
        while spec := get(self._handles.model, len(specs)):
            specs.append(_spec(spec.contents))
        return specs

    def _take_session(self):
        with self._lock:
            if self._free:
                return self._free.pop()
        session = self._handles.create_session()
        with self._lock:
            self._handles.sessions.append(session)
        return session

    def _arguments(self, inputs):
        if not hasattr(inputs, "keys"):
            if len(inputs) > len(self.inputs):
                message = f"expected {len(self.inputs)} inputs, got {len(inputs)}"
                raise Error(Status.INVALID_ARGUMENT, message)
            inputs = {spec.name: value for spec, value in zip(self.inputs, inputs)}
        unknown = set(inputs.keys()) - {spec.name for spec in self.inputs}
        if unknown:
            names = ", ".join(repr(spec.name) for spec in self.inputs)
            message = f"the model has no input {sorted(unknown)[0]!r}; it has: {names}"
            raise Error(Status.INVALID_ARGUMENT, message)
        arguments = []
        for spec in self.inputs:
            value = inputs.get(spec.name)
            arguments.append(None if value is None else _Argument(value, spec.dtype))
        return arguments


def _read_key(path):
    key, reason = ctypes.create_string_buffer(_KEY_SIZE), ctypes.create_string_buffer(_ERROR_SIZE)
    _check(lib.kiln_public_key_read(os.fsencode(path), key, reason, _ERROR_SIZE), reason.value)
    return key.raw


def load(path, threads=0, device=None, verify_weights=True, copy_weights=False, trusted_keys=()):
    """Opens the artefact at `path`, checks it, and returns a Model.

    threads: that work on a run, the calling one included; 0: all CPUs the process may use.
    device: such as "cpu", "cuda:0" or "sim:sm_80"; a device that is named is used or refused.
    copy_weights: read the weights into memory instead of mapping the file.
    trusted_keys: PEM files of public keys, one of which must have signed the artefact.
    """
    flags = 0
    if not verify_weights:
        flags |= _native.KILN_OPEN_TRUST_WEIGHTS
    if copy_weights:
        flags |= _native.KILN_OPEN_COPY_WEIGHTS
    keys = b"".join(_read_key(key) for key in trusted_keys)
    if device is not None and device.startswith("sim:"):
        _native.find_simulator()
    return Model(_Handles(path, threads, device, flags, keys))
