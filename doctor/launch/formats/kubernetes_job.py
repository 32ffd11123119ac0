"""A Job that runs the Pod once; with ports, and the Service that leads to it."""

from __future__ import annotations

from doctor.launch.formats.kubernetes import LABEL, pod_spec, service
from doctor.launch.spec import Emitted, Line, Spec
from doctor.launch.yaml_text import text


def emit(spec: Spec) -> Emitted:
    pod, lines, left_out = pod_spec(spec)
    ports = spec.one("publish") is not None
    template = {"metadata": {"labels": {LABEL: spec.name}}, "spec": pod} if ports else {"spec": pod}
    job = {"backoffLimit": 0, "template": template}
    table = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": spec.name}, "spec": job}
    lines = (*lines, Line("backoffLimit: 0", "a run that failed is looked at before it is repeated"))
    return Emitted(text([table, service(spec)] if ports else table, lines, left_out), lines, left_out)
