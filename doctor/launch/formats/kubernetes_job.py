"""A Job that runs the Pod once."""

from __future__ import annotations

from doctor.launch.formats.kubernetes import pod_spec
from doctor.launch.formats.yaml_text import text
from doctor.launch.spec import Emitted, Line, Spec


def emit(spec: Spec) -> Emitted:
    pod, lines, left_out = pod_spec(spec)
    job = {"backoffLimit": 0, "template": {"spec": pod}}
    table = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": spec.name}, "spec": job}
    lines = (*lines, Line("backoffLimit: 0", "a run that failed is looked at before it is repeated"))
    return Emitted(text(table, lines, left_out), lines, left_out)
