"""Names by the key of their value: variables, parameters of the kernel, Slurm's fields, labels, options, in whatever
notation: `KEY=value`, `key: value`, `"key": "value"`.

>>> sorted(values('SLURM_JOB_ACCOUNT=fusion2 "owner": "mia" nfsroot=nas7:/x BOOT_IMAGE=/vmlinuz'))
[('group', 'fusion2'), ('host', 'nas7'), ('user', 'mia')]
"""

# ruff: noqa: E501, SIM905 -- tables
from __future__ import annotations

from collections.abc import Iterator

from doctor.redaction.lazy import Lazy

_QUOTE = r"\\{0,7}[\"']?"
_PAIR = Lazy(
    rf"(?<![\w./-])(-{{0,2}}[A-Za-z_][\w./-]{{1,80}}){_QUOTE}(\s{{0,16}}[=:]\s{{0,16}}{_QUOTE})(?=[A-Za-z0-9_\\])((?:[A-Z][A-Z0-9]{{1,15}}\\\\?)?[A-Za-z0-9_][\w.@+-]{{1,63}})(?=([^\w.@+-]|$))(?!{_QUOTE}\s{{0,2}}=|/[\w./-]{{1,80}}=)"
)
_STRONG: dict[str, str] = {
    kind_name: kind
    for kind, names in {
        "user": "user_id userid slurm_user slurmd_user job_user run_as_user storage_user real_user slurm_job_user slurm_user_name sudo_user logname pbs_o_logname "
        "acct mail_user wandb_username mlflow_tracking_username github_actor gitlab_user_login kaggle_username loginname nb_user jupyterhub_user",
        "group": "account default_account def_account account_name slurm_account sbatch_account salloc_account slurm_job_account pbs_account group_id "
        "namespace com.docker.compose.project wandb_entity slurm_job_group job_group pod_namespace cost_center costcenter",
        "site": "userdomain userdnsdomain logonserver dns_domain cluster_name slurm_cluster_name krb5realm realm",
        "host": "hostname computername slurm_submit_host slurmd_nodename slurm_launch_node_ipaddr slurm_topology_addr pbs_o_host node_name node_list batch_host "
        "node_host_name node_addr slurmctld_host control_machine alloc_node nodename slurm_job_nodelist slurm_step_nodelist slurm_nodelist nodelist "
        "master_addr rdzv_endpoint nfsroot netroot nbdroot systemd.hostname submit_host req_node_list slurm_node_aliases accounting_storage_host",
    }.items()
    for kind_name in names.split()
}
"""Keys of which any value is a name, in small letters and with `_` between their words."""
_WEAK: dict[str, str] = {
    kind_name: kind
    for kind, names in {
        "user": "user username user_name owner maintainer author contact requester created_by creator assignee reporter launched_by",
        "group": "team department project tenant organization organisation org division workgroup",
        "host": "host server",
        "site": "cluster",
    }.items()
    for kind_name in names.split()
}
"""Keys that are words too: behind `=`, or where the value stands in quotes."""
_CAMEL = Lazy(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_VALUES = frozenset(
    "true false yes no on off auto default enabled disabled int str string bool null none self other others unknown error is was not the this that value name id".split()
)


def values(text: str) -> Iterator[tuple[str, str]]:
    """Kind and name of each."""
    for found in _PAIR.finditer(text):
        key, sign, value = found[1].strip("-"), found[2], found[3]
        plain = _CAMEL.sub("_", key).replace("-", "_").lower()
        last = plain.rpartition("/")[2].rpartition(".")[2]
        kind = _STRONG.get(plain) or _STRONG.get(last)
        if kind is None:
            kind = _WEAK.get(last)
            if kind is None or not ("=" in sign or sign[-1:] in ("'", '"')):
                continue
        if value.lower() not in _NO_VALUES and not value.replace(".", "").isdigit():
            yield from _names(kind, value, found[4])


def _names(kind: str, value: str, after: str) -> Iterator[tuple[str, str]]:
    domain, slash, user = value.partition("\\")
    if slash and kind == "user":
        yield "site", domain
        value = user.lstrip("\\")
    if kind == "host" and after == "[":  # of a list of nodes: ash[01-16]
        yield kind, value.rstrip("-")
        return
    yield kind, value.partition("@")[0] if "@" in value else value.rstrip(".-")
