"""One CUDA context and what is done with it: memory, launches, events. The driver API with errors raised."""

import ctypes
import importlib
from collections.abc import Sequence
from typing import Any

cuda: Any = importlib.import_module("cuda.bindings.driver")  # its functions carry no useful types

_STICKY = frozenset(
    (
        *(
            "ILLEGAL_ADDRESS",
            "LAUNCH_TIMEOUT",
            "HARDWARE_STACK_ERROR",
            "ILLEGAL_INSTRUCTION",
            "MISALIGNED_ADDRESS",
        ),
        *("INVALID_ADDRESS_SPACE", "INVALID_PC", "LAUNCH_FAILED", "ASSERT", "ECC_UNCORRECTABLE", "UNKNOWN"),
    )
)


class DriverError(Exception):
    """A driver call failed: `name` is the CUresult's name, `sticky` says that the context is lost."""

    def __init__(self, call: str, code: Any) -> None:
        self.name = str(code.name)
        super().__init__(f"{call}: {self.name}")

    @property
    def sticky(self) -> bool:
        """Whether nothing more can be done in this context."""
        return self.name.removeprefix("CUDA_ERROR_") in _STICKY


def call(name: str, *arguments: Any) -> Any:
    """Call a driver function; returns its one result or None. Raises DriverError."""
    code, *results = getattr(cuda, name)(*arguments)
    if code != cuda.CUresult.CUDA_SUCCESS:
        raise DriverError(name, code)
    return results[0] if results else None


class Device:
    """The first visible GPU with a context and one stream."""

    def __init__(self) -> None:
        call("cuInit", 0)
        self.handle = call("cuDeviceGet", 0)
        self.context = call("cuDevicePrimaryCtxRetain", self.handle)
        call("cuCtxSetCurrent", self.context)
        self.stream = call("cuStreamCreate", int(cuda.CUstream_flags.CU_STREAM_NON_BLOCKING))
        self.l2_bytes = int(self._attribute("L2_CACHE_SIZE"))

    def _attribute(self, name: str) -> Any:
        attribute = getattr(cuda.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return call("cuDeviceGetAttribute", attribute, self.handle)

    @staticmethod
    def free_bytes() -> int:
        """Bytes of device memory that nobody has taken."""
        code, free, _ = cuda.cuMemGetInfo()
        if code != cuda.CUresult.CUDA_SUCCESS:
            raise DriverError("cuMemGetInfo", code)
        return int(free)

    def allocate(self, size_bytes: int) -> int:
        """Device memory of at least one byte; its address."""
        return int(call("cuMemAlloc", max(size_bytes, 1)))

    def free(self, address: int) -> None:
        """Give memory back."""
        call("cuMemFree", address)

    def upload(self, address: int, content: memoryview) -> None:
        """Copy host bytes (of a writable buffer) to the device and wait."""
        if content.nbytes:
            call("cuMemcpyHtoD", address, _address(content), content.nbytes)

    def download(self, address: int, size_bytes: int) -> bytearray:
        """Copy device bytes to the host and wait."""
        held = bytearray(size_bytes)
        if size_bytes:
            call("cuMemcpyDtoH", _address(memoryview(held)), address, size_bytes)
        return held

    def fill(self, address: int, byte: int, size_bytes: int) -> None:
        """Set bytes, in the stream."""
        if size_bytes:
            call("cuMemsetD8Async", address, byte, size_bytes, self.stream)

    def copy(self, target: int, source: int, size_bytes: int) -> None:
        """Copy on the device, in the stream."""
        if size_bytes:
            call("cuMemcpyDtoDAsync", target, source, size_bytes, self.stream)

    def wait(self) -> None:
        """Wait for all work of the stream. Raises DriverError for what a kernel did wrong."""
        call("cuStreamSynchronize", self.stream)

    def event(self) -> Any:
        """A new timing event."""
        return call("cuEventCreate", int(cuda.CUevent_flags.CU_EVENT_DEFAULT))

    def record(self, event: Any) -> None:
        """Record an event in the stream."""
        call("cuEventRecord", event, self.stream)

    @staticmethod
    def elapsed_us(start: Any, end: Any) -> float:
        """Microseconds between two events that have happened."""
        return float(call("cuEventElapsedTime", start, end)) * 1e3


def _address(view: memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(view))


class Module:
    """A loaded cubin; functions are found by their mangled name."""

    def __init__(self, image: bytes) -> None:
        self._module = call("cuModuleLoadData", image)
        self._functions: dict[tuple[str, int], Any] = {}

    def function(self, name: str, shared_bytes: int) -> Any:
        """The kernel of that name, allowed to use that much dynamic shared memory."""
        key = (name, shared_bytes)
        if key not in self._functions:
            function = call("cuModuleGetFunction", self._module, name.encode())
            if shared_bytes > 48 << 10:
                attribute = cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                call("cuFuncSetAttribute", function, attribute, shared_bytes)
            self._functions[key] = function
        return self._functions[key]

    def unload(self) -> None:
        """Unload it, with its device globals."""
        call("cuModuleUnload", self._module)
        self._functions.clear()


class Launch:
    """One kernel launch with its arguments packed once; `run` puts it into a stream."""

    def __init__(self, function: Any, spec: dict[str, Any], arguments: Sequence[bytes]) -> None:
        self._values = [ctypes.create_string_buffer(value, len(value)) for value in arguments]
        pointers = [ctypes.addressof(value) for value in self._values]
        self._pointers = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
        self._parameters = ctypes.addressof(self._pointers)
        self._function = function
        self._shape = (*spec["grid"], *spec["block"], int(spec.get("shared_bytes", 0)))
        self._cluster: list[int] | None = spec.get("cluster")

    def run(self, stream: Any) -> None:
        """Launch it. Raises DriverError where the configuration is refused."""
        if self._cluster:
            call(
                "cuLaunchKernelEx",
                self._configuration(stream, self._cluster),
                self._function,
                self._parameters,
                0,
            )
        else:
            call("cuLaunchKernel", self._function, *self._shape, stream, self._parameters, 0)

    def _configuration(self, stream: Any, cluster: list[int]) -> Any:
        attribute = cuda.CUlaunchAttribute()
        attribute.id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        shape = attribute.value.clusterDim
        shape.x, shape.y, shape.z = cluster
        config = cuda.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = self._shape[:3]
        config.blockDimX, config.blockDimY, config.blockDimZ = self._shape[3:6]
        config.sharedMemBytes, config.hStream = self._shape[6], stream
        config.attrs, config.numAttrs = [attribute], 1
        return config
