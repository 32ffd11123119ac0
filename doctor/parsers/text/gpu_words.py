"""Words of GPUs' names, and those that are beside a number which is one.

The names are in the catalogue.
"""

from __future__ import annotations

from doctor.parsers.text.tokens import closed

MAKERS = {
    "nvidia": "nvidia",
    "geforce": "nvidia",
    "quadro": "nvidia",
    "tesla": "nvidia",
    "amd": "amd",
    "ati": "amd",
    "radeon": "amd",
    "instinct": "amd",
}
FAMILIES = {"rtx": "nvidia", "gtx": "nvidia", "rx": "amd", "mi": "amd"}
SUFFIXES = {"ti": "nvidia", "tisuper": "nvidia", "super": "nvidia", "xt": "amd", "xtx": "amd", "gre": "amd"}
TAIL = closed(
    "ti tisuper super xt xtx gre m s d g x mobile laptop max q ada blackwell generation workstation server edition "
    "pcie sxm nvl gb g hbm hbm2 gpu sff embedded oam pro titan e a p xp v t"
)
ATTACHED = frozenset(("m", "s", "d", "g", "x", "e", "a", "p", "t"))
"""Letters that belong to a name only where they are at its number without a blank."""
STRONG_CODES = closed(
    "a100 a800 h100 h200 h800 h20 b100 b200 b300 gb10 gb200 gb300 gh200 v100 p100 l40 l40s a10g a6000 a5000 "
    "a4000 a4500 v100s a100x"
)
LETTERS = closed("a b h l v p t k m gb gh w r mx")
PLACES = {
    "jetson": ("agx", "orin", "xavier", "nano", "thor", "tx", "nx", "super"),
    "strix": ("halo", "point"),
    "vega": (),
    "titan": ("rtx", "xp", "x", "v", "black", "z"),
    "dgx": ("spark",),
    "orin": ("nano", "nx", "agx"),
    "agx": ("orin", "xavier", "thor"),
}
FIRST = LETTERS | MAKERS.keys() | FAMILIES.keys() | PLACES.keys() | closed("gt gfx pro ai vii")
"""Words with which a name begins; it may begin with a number as well."""
GPU_WORDS = closed(
    "gpu gpus card cards graphics vram igpu dgpu egpu accelerator accelerators grafikkarte grafikkarten "
    "graphique tarjeta videocard sxm pcie nvlink"
)
OF_GPUS = ("显卡", "グラボ", "видеокарт", "显存")
ARTICLES = closed("a an my our single one two dual both three four eight quad")
COUNTS = {"dual": 2, "two": 2, "both": 2, "three": 3, "four": 4, "quad": 4, "six": 6, "eight": 8}
MAY_FOLLOW = closed(
    "and or with on in is was has here for but which that to from under using owner user laptop desktop box "
    "rig setup machine server system gpu card i we crashes fails hangs dies isn doesn does cannot can won gets "
    "it as s"
)
NOT_BEHIND = closed(": port step steps iteration iterations issue pr line epoch pid commit cpu xeon ryzen core i")
SKIP = frozenset(("(", ")", "™", "®", "r", "tm", "-", "_"))
OF_SEVERAL = frozenset(("3000", "4000", "5000", "6000", "8000"))
"""Numbers that Turing's Quadros, Ada's cards and Blackwell's share: `RTX 6000` alone leaves the architecture open."""
COUNTS_LIMIT = 16
