# Part of Kiln, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requests that share runs: kiln-c/Batcher.h with futures."""

import concurrent.futures
import ctypes
import threading
from ctypes import POINTER, byref, c_uint64, c_void_p

import numpy

from kiln import _native
from kiln._model import _ERROR_SIZE, Error, Status, _Argument, _check, _numpy_type
from kiln._native import lib

_OPTIONS = {name for name, _ in _native.BatcherOptions._fields_} - {
    "struct_size",
    "executor",
    "twin",
    "error",
    "error_size",
}
_PRIORITIES = {"normal": 0, "high": 1, "low": 2}


def _copy(tensor):
    """A new array of a view, which may have strides."""
    dtype = _numpy_type(tensor.dtype)
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(stride * dtype.itemsize for stride in tensor.strides[: tensor.ndim])
    extent = sum((n - 1) * stride for n, stride in zip(shape, strides)) + dtype.itemsize
    if 0 in shape:
        return numpy.empty(shape, dtype)
    memory = (ctypes.c_uint8 * extent).from_address(tensor.data + tensor.byte_offset)
    raw = numpy.frombuffer(memory, numpy.uint8)
    view = numpy.lib.stride_tricks.as_strided(raw.view(f"V{dtype.itemsize}")[:1], shape, strides)
    return numpy.array(view).view(dtype)


class Batcher:
    """Runs requests on a separable model together. Options are the fields of
    kiln_batcher_options: workers, max_batch, max_wait_us, queue_limit ..."""

    def __init__(self, model, **options):
        self._model = model
        self._handle = c_void_p()
        self._lock = threading.Lock()
        self._pending = {}
        self._next = 1
        self._done = _native.BATCH_DONE(self._finish)
        reason = ctypes.create_string_buffer(_ERROR_SIZE)
        unknown = set(options) - _OPTIONS
        if unknown:
            names = ", ".join(sorted(_OPTIONS))
            message = f"a batcher has no option {sorted(unknown)[0]!r}; it has: {names}"
            raise Error(Status.INVALID_ARGUMENT, message)
        native = _native.BatcherOptions(
            struct_size=ctypes.sizeof(_native.BatcherOptions), **options
        )
        native.error = ctypes.cast(reason, ctypes.c_char_p)
        native.error_size = _ERROR_SIZE
        status = lib.kiln_batcher_create(
            model._handles.model, byref(native), byref(self._handle)
        )
        _check(status, reason.value)

    def submit(self, inputs, priority="normal", deadline=None, block=None):
        """Queues a request with one or more rows and returns a future of its
        outputs, a dict of new arrays. `deadline` and `block` are seconds: when the
        result must be there, and how long to wait for a place in a full queue."""
        arguments = []
        for argument in self._model._arguments(inputs):
            if argument is not None and argument.tensor.strides:
                argument = _Argument(numpy.ascontiguousarray(argument.keep[0]), None)
            arguments.append(argument)
        pointers = (POINTER(_native.DLTensor) * len(arguments))()
        for index, argument in enumerate(arguments):
            if argument is not None:
                pointers[index] = ctypes.pointer(argument.tensor)
        future = concurrent.futures.Future()
        with self._lock:
            key, self._next = self._next, self._next + 1
            self._pending[key] = (future, arguments)
        options = _native.SubmitOptions(
            struct_size=ctypes.sizeof(_native.SubmitOptions),
            priority=_PRIORITIES[priority],
            deadline_us=int(deadline * 1e6) if deadline else 0,
            block_us=int(block * 1e6) if block else 0,
            done=self._done,
            user=key,
        )
        ticket = c_uint64()
        status = lib.kiln_batcher_submit(
            self._handle, pointers, len(pointers), None, 0, byref(options), byref(ticket)
        )
        if status:
            with self._lock:
                del self._pending[key]
            _check(status)
        return future

    def run(self, inputs, **options):
        """Submits and waits."""
        return self.submit(inputs, **options).result()

    def stats(self):
        """The numbers of kiln_batcher_stats."""
        stats = _native.BatcherStats(struct_size=ctypes.sizeof(_native.BatcherStats))
        _check(lib.kiln_batcher_get_stats(self._handle, byref(stats)))
        return {
            name: list(value) if isinstance(value, ctypes.Array) else value
            for name, value in ((field[0], getattr(stats, field[0])) for field in stats._fields_)
            if name != "struct_size"
        }

    def metrics_text(self):
        """The same for Prometheus."""
        text = ctypes.create_string_buffer(lib.kiln_batcher_metrics_text(self._handle, None, 0) + 256)
        lib.kiln_batcher_metrics_text(self._handle, text, len(text))
        return text.value.decode()

    def close(self, cancel=False):
        """Runs what was accepted, or gives it up; refuses more."""
        if self._handle:
            _check(lib.kiln_batcher_close(self._handle, int(cancel)))
            self._handle = c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close(cancel=exception[0] is not None)

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close(cancel=True)

    def _finish(self, key, _ticket, status, outputs, count):
        with self._lock:
            future, _ = self._pending.pop(key)
        try:
            _check(status)
            names = (spec.name for spec in self._model.outputs)
            views = (outputs[i].contents for i in range(count))
            future.set_result({name: _copy(view) for name, view in zip(names, views)})
        except Exception as error:  # pylint: disable=broad-except
            future.set_exception(error)
