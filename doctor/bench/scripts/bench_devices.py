"""The GPUs that torch sees, with their PCI addresses. A part of bench_child.py, which loads it."""

import ctypes


def devices(torch, request, send):
    found, runtime = [], None
    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        told = torch.cuda.get_device_properties(number)
        bus = getattr(told, "pci_bus_id", None)
        if bus is None:
            runtime = runtime or library(torch)
            address = asked(runtime, torch, number)
        else:
            address = "%04x:%02x:%02x.0" % (told.pci_domain_id, bus, told.pci_device_id)
        found.append({"name": told.name, "pci": address, "memory": told.total_memory})
    send(event="devices", devices=found, torch=torch.__version__, hip=torch.version.hip, cuda=torch.version.cuda)


def library(torch):
    """The runtime that torch has loaded: in torch 2.6 and before its properties have no PCI address."""
    name = "libamdhip64.so" if torch.version.hip else "libcudart"
    try:
        with open("/proc/self/maps") as held:
            path = next((line.split(None, 5)[5].strip() for line in held if "/" + name in line), None)
        return ctypes.CDLL(path) if path else None
    except OSError:
        return None


def asked(runtime, torch, number):
    """As the runtime tells it: `0000:C1:00.0`. None where it does not."""
    call = getattr(runtime, "hipDeviceGetPCIBusId" if torch.version.hip else "cudaDeviceGetPCIBusId", None)
    held = ctypes.create_string_buffer(32)
    if call is None or call(held, ctypes.c_int(len(held)), ctypes.c_int(number)) != 0:
        return None
    return held.value.decode("ascii", "replace").lower()
