"""Which packages go on a machine, with which commands; and why not, with the nearest stack that does.

>>> from doctor.knowledge import Knowledge
>>> kb = Knowledge()
>>> answer = solve(kb, described(kb, gpu="sm_90", driver="570.124.06", python="3.12"), ["torch==2.14.0+cu130"])
>>> answer.status, answer.refusals()[0].text
('impossible', 'torch 2.14.0+cu130: CUDA 13.0 needs driver >= 580.65.06; 570.124.06 is loaded')
>>> answer.nearest.stack if answer.nearest else None
'torch 2.14.0+cu126'
"""

from doctor.resolve.gate import settle
from doctor.resolve.model import Build, Change, Pick, Reason, Resolution, Solution, Target
from doctor.resolve.solve import explain, solve
from doctor.resolve.target import described, from_snapshot

__all__ = [
    "Build",
    "Change",
    "Pick",
    "Reason",
    "Resolution",
    "Solution",
    "Target",
    "described",
    "explain",
    "from_snapshot",
    "settle",
    "solve",
]
