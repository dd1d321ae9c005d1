"""The CUDA runtime's error codes that a program's calls return: names, and which outlive the call that met them."""

from collections.abc import Mapping

_NAMES: Mapping[int, str] = {
    1: "InvalidValue", 2: "MemoryAllocation", 3: "InitializationError", 4: "CudartUnloading",
    9: "InvalidConfiguration", 12: "InvalidPitchValue", 13: "InvalidSymbol", 17: "InvalidDevicePointer",
    21: "InvalidMemcpyDirection", 34: "StubLibrary", 35: "InsufficientDriver", 46: "DevicesUnavailable",
    52: "MissingConfiguration", 98: "InvalidDeviceFunction", 100: "NoDevice", 101: "InvalidDevice",
    200: "InvalidKernelImage", 201: "DeviceUninitialized", 209: "NoKernelImageForDevice", 214: "ECCUncorrectable",
    218: "InvalidPtx", 222: "UnsupportedPtxVersion", 304: "OperatingSystem", 400: "InvalidResourceHandle",
    401: "IllegalState", 500: "SymbolNotFound", 700: "IllegalAddress", 701: "LaunchOutOfResources",
    702: "LaunchTimeout", 709: "ContextIsDestroyed", 710: "Assert", 714: "HardwareStackError",
    715: "IllegalInstruction", 716: "MisalignedAddress", 717: "InvalidAddressSpace", 718: "InvalidPc",
    719: "LaunchFailure", 720: "CooperativeLaunchTooLarge", 801: "NotSupported", 802: "SystemNotReady",
    900: "StreamCaptureUnsupported", 901: "StreamCaptureInvalidated", 912: "InvalidClusterSize",
    913: "FunctionNotLoaded", 999: "Unknown",
}  # fmt: skip
STICKY = frozenset({700, 702, 709, 710, 714, 715, 716, 717, 718, 719})
NO_DEVICE = frozenset({3, 34, 35, 46, 100, 101, 802})
WRONG_IMAGE = frozenset({98, 200, 209, 218, 222})


def name(code: int) -> str:
    """The name of a code as the headers spell it, such as cudaErrorInvalidValue."""
    return f"cudaError{_NAMES[code]}" if code in _NAMES else f"cudaError {code}"
