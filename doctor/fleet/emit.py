"""Texts that another engine runs: an sbatch script, a Kubernetes Job and DaemonSet, an Ansible playbook.

Each leads to what `doctor fleet report` reads: a file a node, or a stream of `NODE: {report}` lines.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from doctor.errors import InputError
from doctor.fleet.names import expanded, folded

CHECK = ("check", "--format", "jsonl", "--fail-on", "never")
NAMED = 'printf "%s: " "$SLURMD_NODENAME"; exec "$@"'
"""For sh -c on a node of Slurm: its name first, so that a node which hangs afterwards is known; srun's own %N is a host
name, which need not be Slurm's name of the node."""
KINDS = ("sbatch", "kubernetes-job", "kubernetes-daemonset", "ansible")
_IMAGE = re.compile(r"[a-z0-9][A-Za-z0-9._:/@-]{0,400}")
_OPTION = re.compile(r"--[a-z][a-z-]{1,40}(=[A-Za-z0-9_.,:@%/\[\]+-]{1,400})?")
_PARTITION = re.compile(r"[A-Za-z0-9._-]{1,100}")


def emit(
    kind: str,
    *,
    doctor: str,
    nodes: str | None,
    partition: str | None,
    timeout_s: int,
    image: str,
    gpu_label: str | None,
    options: Sequence[str] = (),
) -> str:
    """`options` are more ones for sbatch. InputError where a name would be read as something else."""
    if kind == "sbatch":
        return _sbatch(doctor, nodes, partition, timeout_s, options)
    if kind == "ansible":
        return "# Then: doctor fleet report reports\n" + playbook(doctor, timeout_s)
    return _kubernetes(kind, nodes, timeout_s, image, gpu_label)


def _sbatch(doctor: str, nodes: str | None, partition: str | None, timeout_s: int, options: Sequence[str]) -> str:
    for option in options:
        if not _OPTION.fullmatch(option):
            raise InputError(f"--option {option[:60]!r}: expected one option of sbatch, such as --gres=gpu:8")
    if partition is not None and not _PARTITION.fullmatch(partition):
        raise InputError(f"--partition {partition[:60]!r}: no partition's name")
    names = expanded(nodes) if nodes else []
    asked = ["job-name=doctor-fleet", "exclusive", "ntasks-per-node=1", "no-kill", f"time={-(-timeout_s // 60) + 2}"]
    rows = ["#!/bin/sh", *(f"#SBATCH --{option}" for option in (*asked, "output=doctor-fleet-%j.txt"))]
    rows += [f"#SBATCH --partition={partition}"] if partition else []
    rows += [f"#SBATCH --nodelist={folded(names)}", f"#SBATCH --nodes={len(set(names))}"] if names else []
    rows += [f"#SBATCH {option}" for option in options]
    command = shlex.join(["sh", "-c", NAMED, "sh", doctor, *CHECK])
    return "\n".join([
        *rows,
        "# Without --nodelist: sbatch --nodes=N. The verdict is in doctor-fleet-JOB.txt.",
        "# Where Slurm manages the GPUs, a job sees those that it asks for: sbatch --gres=gpu:N.",
        "set -u",
        "umask 077",
        "reports=$(mktemp -d)",
        "trap 'rm -rf \"$reports\"' EXIT",
        f"srun --no-kill --kill-on-bad-exit=0 --wait={timeout_s} \\",
        "  --output=\"$reports/%t.out\" --error=\"$reports/%t.err\" \\",
        f"  {command}",
        f"{shlex.quote(doctor)} fleet report \"$reports\" --nodes \"$SLURM_JOB_NODELIST\"",
        "",
    ])  # fmt: skip


def playbook(doctor: str, timeout_s: int) -> str:
    """A play over all hosts of an inventory. What each answers, or why it doesn't, is a line of `answers.jsonl` in the
    folder that the variable `reports` names; one task writes it, since one a host costs seconds of the controller."""
    import yaml

    folder = "{{ reports | default(playbook_dir ~ '/reports') }}"
    here = {"delegate_to": "localhost", "run_once": True, "become": False}
    line = "{{ {'node': host, 'report': hostvars[host].doctor | default({})} | to_json }}"
    ask = {
        "name": "Ask the node",
        "ansible.builtin.command": {"argv": ["timeout", str(timeout_s), doctor, *CHECK]},
        "register": "doctor",
        "timeout": timeout_s + 30,
        "changed_when": False,
        "failed_when": False,
        "ignore_errors": True,
        "ignore_unreachable": True,
    }
    make = {
        "name": "A folder for the reports",
        "ansible.builtin.file": {"path": folder, "state": "directory", "mode": "0700"},
        **here,
    }
    content = "{% for host in ansible_play_hosts_all %}" + line + "\n{% endfor %}"
    keep = {
        "name": "Keep all answers here",
        "ansible.builtin.copy": {"content": content, "dest": f"{folder}/answers.jsonl", "mode": "0600"},
        **here,
    }
    play = {"name": "Reports of all nodes", "hosts": "all", "gather_facts": False, "tasks": [ask, make, keep]}
    return yaml.safe_dump([play], sort_keys=False, width=120)


def _kubernetes(kind: str, nodes: str | None, timeout_s: int, image: str, gpu_label: str | None) -> str:
    import yaml

    if not _IMAGE.fullmatch(image):
        raise InputError(f"--image {image[:60]!r}: no image's name")
    labels = {"app.kubernetes.io/name": "doctor-fleet"}
    names = expanded(nodes) if nodes else []
    selector = _selector(gpu_label)
    # The report first; a DaemonSet's pod must go on living, or it is started again.
    script = 'printf "%s: " "$NODE_NAME"; "$@"; ' + ("exec sleep infinity" if kind.endswith("daemonset") else "exit 0")
    argv = ["timeout", str(timeout_s), "doctor", *CHECK[:1], "--root", "/host", *CHECK[1:]]
    pod: dict[str, object] = {
        "automountServiceAccountToken": False,
        "restartPolicy": "Always" if kind.endswith("daemonset") else "Never",
        "tolerations": [{"operator": "Exists"}],
        **({"nodeSelector": selector} if selector else {}),
        "containers": [
            {
                "name": "doctor",
                "image": image,
                "command": ["sh", "-c", script, "sh", *argv],
                "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [{"name": "host", "mountPath": "/host", "readOnly": True}],
            }
        ],
        "volumes": [{"name": "host", "hostPath": {"path": "/", "type": "Directory"}}],
    }
    metadata: dict[str, object] = {"name": "doctor-fleet", "labels": labels}
    if kind == "kubernetes-daemonset":
        made: dict[str, object] = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": metadata,
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
        }
    else:
        if not names:
            raise InputError("kubernetes-job: --nodes names the nodes, one pod each; a DaemonSet needs none")
        made = _job(metadata, labels, pod, names, timeout_s)
    logs = "kubectl logs -l app.kubernetes.io/name=doctor-fleet --tail=-1 --max-log-requests=1000"
    return f"# {logs} | doctor fleet report -\n" + yaml.safe_dump(made, sort_keys=False, width=120)


def _selector(label: str | None) -> dict[str, str]:
    if label is None:
        return {}
    key, equals, value = label.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z0-9./_-]{1,316}", key):
        raise InputError(f"--node-label {label[:60]!r}: NAME=VALUE is the form, such as nvidia.com/gpu.present=true")
    return {key: value}


def _job(
    metadata: dict[str, object], labels: dict[str, str], pod: dict[str, object], names: list[str], timeout_s: int
) -> dict[str, object]:
    """One pod a node: as many as there are names, on those nodes, no two on one."""
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": names}]}
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
    pod["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "parallelism": len(names),
            "completions": len(names),
            "backoffLimit": 0,
            "activeDeadlineSeconds": timeout_s + 120,
            "ttlSecondsAfterFinished": 3600,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
