"""The GPUs that torch sees, with their PCI addresses. A part of bench_child.py, which loads it."""

import ctypes
import glob


def devices(torch, request, send):
    found, runtime = [], None
    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        properties = torch.cuda.get_device_properties(number)
        bus = getattr(properties, "pci_bus_id", None)
        if bus is None:
            runtime = runtime or library(torch)
            address = asked(runtime, torch, number)
        else:
            address = "%04x:%02x:%02x.0" % (properties.pci_domain_id, bus, properties.pci_device_id)
        # Of AMD it is the L2 of one die, without the Infinity Cache behind it.
        cache = None if torch.version.hip else getattr(properties, "L2_cache_size", None)
        found.append({"name": properties.name, "pci": address, "memory": properties.total_memory, "cache": cache})
    send(event="devices", devices=found, torch=torch.__version__, hip=torch.version.hip, cuda=torch.version.cuda,
         host_cache=host_cache())  # fmt: skip


def read(path):
    with open(path) as held:
        return held.read().strip()


def host_cache(root="/sys/devices/system/cpu"):
    """Bytes of the last-level caches of all CPUs together; None where the kernel does not say."""
    found = {}
    for cpu in sorted(glob.glob(root + "/cpu[0-9]*/cache")):
        last = sorted(glob.glob(cpu + "/index[0-9]*"))[-1:]
        try:
            shared, size = read(last[0] + "/shared_cpu_list"), read(last[0] + "/size")
            found[shared] = int(size[:-1]) << {"K": 10, "M": 20}[size[-1:]]
        except (OSError, ValueError, KeyError, IndexError):
            continue
    return sum(found.values()) or None


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
