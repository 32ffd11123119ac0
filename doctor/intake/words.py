"""The words of a pasted text -> causes whose texts it is like. Bounded: the first lines of a text count, and words that
the table knows.

>>> words = Words()
>>> lines = "### What happens", "nvidia-smi works on the host", "started without --gpus all"
>>> _ = list(words.through(enumerate(lines, 1)))
>>> words.resembles()[0].cause
'container-missing-gpu-passthrough'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from doctor.facts.snapshot import Resemblance
from doctor.intake.speech import Speech
from doctor.knowledge.wording import HEALTHY, Like, shared, symptom_word, words_of
from doctor.redaction.lazy import Lazy

LINES_LIMIT = 1200
_FORM = Lazy(
    r"\s*(?:Is debug build|GCC version|Clang version|CMake version|Libc version|CUDA runtime version|cuDNN version"
    r"|CUDA_MODULE_LOADING set to|HIP runtime version|MIOpen runtime version|Is XNNPACK available"
    r"|Caching allocator config)\s*: "
    r"|\s*(?:\d\.\s)?/(?:[\w.+-]{1,40}/){1,8}libcudnn[\w.-]{0,40}\s*$"
    r"|\s*(?:\[(?:pip3?|conda)\] )?[A-Za-z][\w.-]{1,60}(?:==|\s+)\d+\.\S{0,60}"
    r"(?:\s+(?=[^\s\d]{0,24}\d)\S{1,40}(?:\s+[\w-]{1,24})?)?\s*$"
    r"|\s*(?:export )?[A-Z][A-Z0-9_]{2,60}=\S{0,300}\s*$|\s*File \""
    r"|[^\n]{0,90}(?:loading out-of-tree module taints|module verification failed: signature|' taints kernel"
    r'|apparmor="STATUS"'
    r"|lock debugging due to kernel taint|SMU driver if version not matched|optional \w{2,16} ta ucode is not"
    r"|(?:SECUREDISPLAY|Secure display): |PSP runtime database doesn't|Argument #\d type mismatch|\bvgaarb: )"
    r"|[^\n]{0,200}(?:, not found tuned config in |attention on (?:Current )?AMD GPU is still experimental\b"
    r"|\bMost likely this shouldn['’]t be a problem)"
    r"|[^\n]{0,120}(?:\bCUDA kernel errors might be asynchronously reported at\b"
    r"|\bFor debugging consider passing CUDA_LAUNCH_BLOCKING\b|\bCompile with `TORCH_USE_CUDA_DSA`"
    r"|\bNET/Plugin ?: [^\n]{0,120}\blib[nr]ccl-net)"
    r"|\s*\|\s{1,40}(?:GPU\s{1,8}(?:Name|GI)\b|Fan\s{1,8}Temp\b|GPU-Util\b|MIG M\.|ID\s{1,8}ID\b|Processes:)"
    r"|(?=[^\n]{0,400}\b(?:amdgpu|ttm|(?:amd_|intel_)?iommu|pci|nvidia[\w-]{0,12}|BOOT_IMAGE|root)(?:\.\w{1,40})?=)"
    r"(?:(?:[\w./:-]{1,80}=\S{1,200}|r[ow]|quiet|splash|nomodeset|nosplash|nowatchdog|--+)(?: |\s*$)){2,60}$"
)
"""Fields of `python -m torch.utils.collect_env`, the head of nvidia-smi's table (`Volatile Uncorr. ECC`), whose words
are the same on every machine, lists of packages, of variables and of the frames of a traceback, what AppArmor loads at
every start, a kernel's command line, notes of AITER and torch which say themselves that all goes on, what torch adds
to every error of CUDA's, and NCCL's search for a plugin that it does without: they may speak for a machine in which
nothing is wrong, and make no cause likelier. What they tell is read."""

_FRAME = Lazy(
    r"\bterminate called after throwing an instance of\b|\b(?:torch\.)?AcceleratorError(?=: )"
    r"|\bFatal Python error(?=: )"
    r"|\btime=\S{10,40}(?= level=)|\blevel=[A-Za-z]{4,7}\b|\bsource=[\w./-]{1,60}\.go:\d{1,6}|\bmsg=(?=\")"
)
"""What stands around every message of a kind, whatever it says: C++'s last words, torch's name for any error of a GPU's
runtime, what Python says of itself before the signal that ends it, the fields of Go's log. Such words make no cause
likelier either."""


class Words:
    """Made for one text. Keeps the line that each known word stands on first, and whether somebody speaks."""

    def __init__(self) -> None:
        self.known = shared().words
        self.lines: dict[str, int] = {}
        self.told: set[str] = set()
        self.speech = Speech()

    def through(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """The lines as they are."""
        for count, row in enumerate(lines):
            if count < LINES_LIMIT and row[1].strip():
                self.speech.hear(row[1])
                known = [word for word in words_of(row[1]) if word in self.known]
                for word in known:
                    self.lines.setdefault(word, row[0])
                if _FORM.match(row[1]) is None:
                    bare = _FRAME.sub(" ", row[1])
                    self.told.update(known if bare == row[1] else self.lines.keys() & set(words_of(bare)))
            yield row

    def resembles(self, symptoms: Iterable[str] = ()) -> tuple[Resemblance, ...]:
        """What the words are like, and the keys of the error texts found among them. Nothing of a tool's output alone:
        its words are the same on a machine in which nothing is wrong. Nothing where nothing is complained of: who shows
        a setup or asks for a feature uses the same words."""
        if not (self.speech.asks and self.speech.complains):
            return ()
        errors = {symptom_word(key) for key in symptoms}
        likes = shared().like({*self.lines, *errors})
        plain = len(self.told) == len(self.lines)
        bare = {} if plain else {like.cause: like.share for like in shared().like({*self.told, *errors})}
        return tuple(
            Resemblance(
                cause=like.cause,
                share=round(like.share if plain else _share(like, bare), 3),
                words=like.words,
                source=f"text:{self.lines[like.words[0]]}" if like.words else "text",
            )
            for like in likes
        )


def _share(like: Like, bare: Mapping[str, float]) -> float:
    """No cause has more than the words beside the fields of a form give it."""
    return like.share if like.cause == HEALTHY else min(like.share, bare.get(like.cause, 0.0))
