"""Plain labelled lines, as issue forms and people write them (`ROCm version: 6.2`, `GPU: RX 7900 XTX`) -> facts.

>>> sheet = read("- OS: Ubuntu 22.04\\n- **GPU**: RX 7900 XTX\\n- ROCm version: 6.2")
>>> sheet.get("os.id"), sheet.get("gpus[#0].name"), sheet.get("rocm[shown].version")
('ubuntu', 'RX 7900 XTX', '6.2')
"""

from __future__ import annotations

import re
from collections.abc import Callable

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines
from doctor.parsers.python.packages import GONE
from doctor.parsers.python.torch_build import build_facts, said_facts
from doctor.parsers.text import container_label
from doctor.parsers.text.driver_labels import VERSION, DriverLabels
from doctor.parsers.text.os_name import os_facts

PASTED = (
    {
        "trust": 700,
        "words": (
            ":",
            "##",
            "|",
            "=",
            "nvidia-smi",
            "pytorch ",
            "torch ",
            "python ",
            "rocm ",
            "ubuntu ",
            "gcc (",
            "g++ (",
            "compiler identification is",
        ),
    },
)

_LABEL = re.compile(
    r"\s{0,8}(?:[-*+•|] {0,3})?[*_`]{0,3}(?P<label>[A-Za-z][\w /()#.+-]{0,50}?)"
    r"[*_`]{0,3}\s{0,8}[:|=]\s{0,8}[*_`]{0,3}\s?(?P<value>\S.*)$"
)
_PLAIN = re.compile(
    r"\s{0,8}(?:[-*+•] {0,3})?(?P<label>PyTorch|torch|Python|ROCm|Ubuntu|Debian|Fedora|Kernel|Linux kernel)"
    r" {1,2}(?:version )?v?(?P<value>\d[\w.+-]{0,60})(?P<more>.{0,60})$"
)
_MOVED = re.compile(
    r" ?(?:->|=>|→|to) ?(?:(?:PyTorch|torch|Python|ROCm|Linux kernel|Kernel) )?v?(\d{1,3}\.\d[\w.+-]{0,60})",
    re.IGNORECASE,
)
"""`ROCm 6.4 -> ROCm 7.1`, `Kernel 6.8 to 6.11`: the second is there now."""
_GCC = re.compile(r"\s{0,8}(?:gcc|g\+\+|cc|c\+\+) \([^)]{1,60}\) (\d{1,2}\.\d{1,2}\.\d{1,2})\b")
_CMAKE = re.compile(
    r"\s{0,8}(?:-- )?The (?:(?:C|CXX) compiler identification is"
    r"|CUDA compiler identification is NVIDIA [\d.]{1,16} with host compiler) GNU (\d{1,2}\.\d{1,2}\.\d{1,2})\b"
)
_GPU_LINE = re.compile(
    r"\s{0,8}(?:[-*] )?GPU ?#?(\d{1,3}): (?P<name>[A-Za-z][^:=|]{2,100}?)(?: \(UUID: (?P<uuid>[\w-]{8,60})\))?\s*$"
)
_GGML = re.compile(
    r"\s{0,8}Device (\d{1,3}): (?P<name>[^,]{3,80}), "
    r"(?:(?P<gfx>gfx[0-9a-f]{3,4})\b|compute capability (?P<cc>\d{1,2}\.\d))"
)
_FIELD = re.compile(r'\b(library|compute|name)=(?:"([^"]{1,80})"|([^\s"]{1,40}))')
"""Of Ollama's list of the GPUs that it takes, a line for each."""
_ROCM_NUMBER = re.compile(r"\brocm[ _-]?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)(?=a?\d{0,8}\b|[ab]|rc)", re.IGNORECASE)
_RELEASE = re.compile(
    r"(\d{1,2}\.\d{1,3}\.\d{1,4}[\w.+-]{0,80}|\d{1,2}\.\d{1,3}-rc\d{1,2}[\w.+-]{0,60}|\d{1,2}\.\d{1,3}(?=$|\s|\.x\b))"
)
_GFX = re.compile(r"\b(gfx[0-9a-f]{3,4})\b")
_SM = re.compile(r"(?:sm_?)?(\d{1,2})\.?(\d)[af]?\b")
_AMD = re.compile(
    r"\b(?:AMD|Radeon|Instinct|MI\d{2,3}[AXP]?|RX ?\d{3,4}|gfx\d\w{2,3}|Strix|Ryzen AI|Vega)\b", re.IGNORECASE
)
_NVIDIA = re.compile(
    r"\b(?:NVIDIA|GeForce|RTX|GTX|Quadro|Tesla|Jetson|[ABHLV]\d{2,3}S?|GB?[HB]?[123]00|TITAN|Orin|Xavier)\b",
    re.IGNORECASE,
)
_CAPABILITY = re.compile(r"(\d{1,2})\.(\d)")
_REMARK = re.compile(r"(?<=\w)\s*\((?!TM|R\))[^()]{1,60}\)\s*$|\s*\((?:gfx|[CDTQS]PX|sm_)[^)]{0,40}\)", re.IGNORECASE)
"""What people add behind a GPU's name: `(32 GB each)`, `(sm_120)`."""
_NOTHING = {"n/a", "none", "unknown", "no", "_no response_", "not applicable", "-", "?", "could not collect", "no cuda"}
_GPUS_LIMIT = 256
_ANSWER_LIMIT = 80
"""Characters of a line below a heading that answer a form's question; a longer one is a sentence."""


def read(text: str, source: str = "text") -> FactSheet:
    """Only labels that are known count. Raises ParserError without any."""
    reader, heading = _Reader(), ""
    for where, line in source_lines(text, source):
        if heading and 0 < len(line.strip()) <= _ANSWER_LIMIT:
            reader.label(where, heading, line.strip())
        elif len(line) < 600:
            reader.take(where, line)
        if line.strip():
            heading = line.strip("# :") if line.startswith("##") else ""
    reader.close()
    if not len(reader.sheet):
        raise ParserError("no known label in the text")
    return reader.sheet


class _Reader(DriverLabels):
    def __init__(self) -> None:
        super().__init__()
        self.gpus = 0
        self.served = 0
        self.capability: tuple[str, str] | None = None
        self.hip_said: tuple[str, str] | None = None

    def take(self, where: str, line: str) -> None:
        if "GPU" in line and (found := _GPU_LINE.match(line)):
            self.gpu(where, found["name"], int(found[1]), found["uuid"])
        elif "Device " in line and (found := _GGML.match(line)):
            self.gpu(where, found["name"], int(found[1]))
            if found["gfx"] or not _AMD.search(found["name"]):  # HIP's 10.3 is that of many targets
                arch = found["gfx"] or "sm_" + found["cc"].replace(".", "")
                self.sheet.put(f"gpus[#{int(found[1])}].arch", arch, where)
        elif 'msg="inference compute"' in line:
            self.serves(where, {name: quoted or plain for name, quoted, plain in _FIELD.findall(line)})
        elif "NVIDIA-SMI" in line:
            self.smi(where, line)
        elif line.lstrip().startswith("__cuda"):
            pass  # conda's virtual package: `__cuda=12.4=0` is no toolkit
        elif (found := _LABEL.match(line)) and self.label(where, found["label"], found["value"]):
            return
        elif found := _GCC.match(line) or _CMAKE.match(line):
            self.sheet.put("host.gcc_version", found[1], where)
        elif (found := _PLAIN.match(line)) and not GONE.search(found["more"]):
            self.plain(where, found)

    def label(self, where: str, label: str, value: str) -> bool:
        key = re.sub(r"[\s_()]+", " ", label.lower()).strip()
        value = kept(value, 300).strip("*`_| ")
        action = _LABELS.get(key)
        if action and value.lower() not in _NOTHING:
            action(self, where, value)
        elif action is None:
            return container_label.take(self.sheet, where, key, value)
        return True

    def plain(self, where: str, found: re.Match[str]) -> None:
        label = found["label"].lower()
        value = found["value"] + found["more"] if label in ("ubuntu", "debian", "fedora") else found["value"]
        if label in ("ubuntu", "debian", "fedora"):
            self.facts(where, os_facts(f"{label} {value}"))
        elif "(you have " in found["more"]:  # xFormers: what it was built for, then what is there
            self.label(where, label, found["more"].partition("(you have ")[2].rstrip(") "))
        elif moved := _MOVED.match(found["more"]):
            self.label(where, label, moved[1])
        elif label != "rocm" or "." in value:  # "ROCm 7 on Ubuntu" names a generation, not a release
            self.label(where, label, value)

    def facts(self, where: str, facts: dict[str, str | bool]) -> None:
        for name, value in facts.items():
            self.sheet.put(name, value, where)

    def gpu(self, where: str, value: str, number: int | None = None, uuid: str | None = None) -> None:
        if self.gpus >= _GPUS_LIMIT or re.fullmatch(r"(?:yes|true|false|\d+%?|all)", value.lower()):
            return
        many = re.match(r"(\d{1,2}) ?[x×] ?(?=[A-Za-z])", value)
        name = value[many.end() :] if many else value
        arch = _GFX.search(name)
        vendor = "amd" if arch or _AMD.search(name) else "nvidia" if _NVIDIA.search(name) else None
        if vendor is None:
            return
        start = self.gpus if number is None else number
        for place in range(start, start + (min(int(many[1]), 16) if many else 1)):
            at = f"gpus[#{place}]"
            self.sheet.put(f"{at}.vendor", vendor, where)
            self.sheet.put(f"{at}.name", _REMARK.sub("", name)[:120], where)
            if arch:
                self.sheet.put(f"{at}.arch", arch[1], where)
            if partition := re.search(r"\((CPX|DPX|TPX|QPX|SPX)\)", name):
                self.sheet.put(f"{at}.compute_partition", partition[1], where)
            if uuid:
                self.sheet.put(f"{at}.uuid", uuid, where)
            self.gpus = max(self.gpus, place + 1)

    def serves(self, where: str, fields: dict[str, str]) -> None:
        """Only where nothing else has numbered the GPUs: a list of the others may have another order."""
        compute = fields.get("compute", "")
        vendor = {"cuda": "nvidia", "rocm": "amd", "hip": "amd"}.get(fields.get("library", "").lower())
        arch = _GFX.fullmatch(compute) if vendor == "amd" else _CAPABILITY.fullmatch(compute)
        if vendor is None or arch is None or self.gpus != self.served or self.served >= _GPUS_LIMIT:
            return
        at = f"gpus[#{self.served}]"
        self.gpus = self.served = self.served + 1
        self.sheet.put(f"{at}.vendor", vendor, where)
        self.sheet.put(f"{at}.arch", arch[0] if vendor == "amd" else f"sm_{arch[1]}{arch[2]}", where)
        if name := fields.get("name"):
            self.sheet.put(f"{at}.name", name, where)

    def arch(self, where: str, value: str) -> None:
        if found := _GFX.search(value):
            self.capability = (found[1], where)
        elif value.lower() in ("aarch64", "arm64", "x86_64", "amd64"):
            self.sheet.put("host.machine", "aarch64" if value.lower() in ("aarch64", "arm64") else "x86_64", where)
        elif found := _SM.match(value):
            self.capability = (f"sm_{found[1]}{found[2]}", where)

    def pci(self, where: str, value: str) -> None:
        if found := re.match(r"(10de|1002):([0-9a-f]{4})\b", value):
            at = f"gpus[#{max(self.gpus - 1, 0)}]"
            self.sheet.put(f"{at}.vendor", "nvidia" if found[1] == "10de" else "amd", where)
            self.sheet.put(f"{at}.pci_id", found[0], where)

    def os(self, where: str, value: str) -> None:
        self.facts(where, os_facts(value))

    def kernel(self, where: str, value: str) -> None:
        if found := _RELEASE.search(value):
            self.sheet.put("kernel.release", found[1], where)
            if "microsoft" in found[1].lower():
                self.sheet.put("host.wsl", True, where)

    def cpu(self, where: str, value: str) -> None:
        if not value.isdecimal():  # `processor : 0` of /proc/cpuinfo is a number
            self.sheet.put("host.cpu", value[:120], where)

    def rocm(self, where: str, value: str) -> None:
        if pair := re.match(r"\((\d{1,2}), (\d{1,2})\)", value):  # the HIP of torch's build, as ComfyUI prints it
            self.hip_said = self.hip_said or (f"{pair[1]}.{pair[2]}", where)
        elif found := _ROCM_NUMBER.search(value[:120]) or VERSION.match(value):
            self.facts(where, {"rocm[shown].path": "", "rocm[shown].version": found[1]})

    def toolkit(self, where: str, value: str) -> None:
        full = re.search(r"V(\d{1,2}\.\d{1,2}\.\d{1,4})", value)
        plain = re.sub(r"^(?:cuda|release)\s+", "", value.partition("/")[0], flags=re.IGNORECASE)
        if found := full or VERSION.match(plain):  # of `10.1/7.4.2` the second is cuDNN's
            self.facts(where, {"cuda[shown].path": "", "cuda[shown].version": found[1], "cuda[shown].kind": "toolkit"})

    def python(self, where: str, value: str) -> None:
        if found := re.search(r"\b([23]\.\d{1,2}(?:\.\d{1,2}\w{0,4})?)\b", value):
            self.sheet.put("interpreter.version", found[1], where)

    def torch(self, where: str, value: str) -> None:
        if found := re.search(r"\b(\d{1,2}\.\d{1,2}(?:\.\d{1,3})?(?:[a-z+.][\w.+-]{0,60})?)", value):
            self.facts(where, build_facts(found[1]))
        self.facts(where, said_facts(value))

    def available(self, where: str, value: str) -> None:
        if found := re.match(r"(true|false|yes|no)\b", value.lower()):
            self.sheet.put("torch.available", found[1] in ("true", "yes"), where)

    def nofile(self, where: str, value: str) -> None:
        if re.match(r"\d{1,12}$", value):
            self.sheet.put("host.nofile", int(value), where)

    def memlock(self, where: str, value: str) -> None:
        """`ulimit -l` counts in KiB."""
        if value == "unlimited":
            self.sheet.put("host.memlock_bytes", -1, where)
        elif re.match(r"\d{1,15}$", value):
            self.sheet.put("host.memlock_bytes", int(value) * 1024, where)

    def close(self) -> None:
        """The ROCm in the number of a wheel says more than its HIP, which AMD numbers apart."""
        if self.hip_said and self.sheet.get("rocm[shown].version") is None:
            version = self.sheet.get("torch.rocm") or self.hip_said[0]
            self.facts(self.hip_said[1], {"rocm[shown].path": "", "rocm[shown].version": str(version)})
        self.close_driver()
        if self.capability:
            arch, where = self.capability
            for number in range(max(self.gpus, 1)):
                self.sheet.put(f"gpus[#{number}].vendor", "amd" if arch.startswith("gfx") else "nvidia", where)
                self.sheet.put(f"gpus[#{number}].arch", arch, where)


def _labels() -> dict[str, Callable[[_Reader, str, str], None]]:
    rows: tuple[tuple[str, Callable[[_Reader, str, str], None]], ...] = (
        ("hardware: gpu|gpu|gpus|gpu s|gpu model|gpu name|gpu type|gpu models|graphics card|graphics|video card|"
         "gpu device|device name|accelerator|accelerators|hardware", _Reader.gpu),
        ("compute capability|gpu arch|gpu architecture|gfx version|gfx target|gfx|architecture|target", _Reader.arch),
        ("pci|pci id|device id", _Reader.pci),
        ("os|operating system|operating system and version|os version|"
         "linux distribution|distro|distribution|host os|platform|system", _Reader.os),
        ("kernel|kernel version|linux kernel|linux kernel version|kernel release|uname -r", _Reader.kernel),
        ("cpu|cpu model|processor|cpu s", _Reader.cpu),
        ("rocm version|rocm|rocm release|hip/rocm version|installed rocm version|rocm s|system rocm", _Reader.rocm),
        ("cuda toolkit version|cuda toolkit|cuda version|cuda|cuda/cudnn version|nvcc|nvcc version|host nvcc|"
         "system nvcc|local nvcc|nvcc --version|nvcc -v|nvcc in path|nvcc on path|system cuda toolkit|"
         "host cuda toolkit|local cuda toolkit|installed cuda toolkit|toolkit", _Reader.toolkit),
        ("cuda driver version|cuda version nvidia-smi|nvidia-smi cuda version|cuda umd version", _Reader.smi_cuda),
        ("nvidia driver version|nvidia driver|nvidia gpu driver|kmd version|"
         "nvidia open gpu kernel modules version", _Reader.nvidia_driver),
        ("driver|driver version|gpu driver|gpu driver version|gpu drivers", _Reader.driver),
        ("nvidia kernel module version|kernel module version|nvrm version", _Reader.module_version),
        ("nvidia kernel module type|kernel module type|nvidia kernel modules|kernel module flavour", _Reader.flavour),
        ("nvml library version|nvml version", _Reader.nvml),
        ("amdgpu version|amdgpu driver|amdgpu driver version|amdgpu-dkms|amdgpu-dkms version|amdgpu dkms|"
         "rock-dkms|rock dkms|amdgpu kernel module|amdgpu module", _Reader.amdgpu),
        ("python|python version|python versions", _Reader.python),
        ("pytorch|pytorch version|torch|torch version|torch.__version__|pytorch build|installed torch", _Reader.torch),
        ("torch.cuda.is available|cuda available|is cuda available|torch.cuda.is_available", _Reader.available),
        ("ulimit -n|open files|nofile|max open files", _Reader.nofile),
        ("ulimit -l|max locked memory", _Reader.memlock),
    )  # fmt: skip
    return {label: action for labels, action in rows for label in labels.split("|")}


_LABELS = _labels()
