"""What is wrong with a Dockerfile or a compose file for GPUs, of AMD or NVIDIA, whoever wrote it.

What only looks wrong is not reported: wheels bring CUDA or ROCm with them, so a plain Python base is fine, and so is
`runtime: nvidia`.
"""

from doctor.images.lint.model import RULES, Fault, Level
from doctor.images.lint.read import lint

__all__ = ["RULES", "Fault", "Level", "lint"]
