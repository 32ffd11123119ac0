"""What a key says of its value, in whatever notation: `SLURM_JOB_USER`, `jobUser`, `--job-user`, `Job User`. The last
noun decides, the word before it may say otherwise; `name` and `id` say what the key above them says.

>>> [kind_of(key) for key in ("SLURM_JOB_ACCOUNT", "UserId", "nodeName", "numa_node", "process_name", "realUser")]
['group', 'user', 'host', '', '', 'user']
>>> kind_of("name", ("spec", "owner")), kind_of("name", ("metadata",)), kind_of("name", ("containers",))
('user', 'project', '')
"""

# ruff: noqa: E501, SIM905 -- tables
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from doctor.redaction.lazy import Lazy

_NOUNS = {
    noun: kind
    for kind, nouns in {
        "user": "uid auid euid suid fsuid user username users login logname loginname owner owners maintainer maintainers author authors submitter creator requester requestor"
        " contact contacts assignee reporter reviewer gecos cn principal operator by acct serviceaccount initiator gitlabuser admin actor adminuser",
        "group": "gid egid account accounts team department group groups tenant organization organisation org division workgroup entity namespace workspace reservation"
        " costcenter customer company allowgroups allowaccounts",
        "host": "ip addr address computer host hosts hostname server node nodes nodelist nodename nodeaddr computername master peer machine endpoint proxyjump nodeset logonserver hostnames"
        " nfsroot netroot nbdroot target targets mirror mirrors broker upstream sid",
        "site": "cluster domain realm userdomain userdnsdomain workgroups dc site rack location syslocation ssid datacenter datacentre",
        "project": "project projects bucket database experiment repository repo jobname container pod release volume vg context",
        "serial": "serial sku assettag servicetag",
    }.items()
    for noun in nouns.split()
}
_WORDS = {"sys": "host", "jb": "project", "job": "project", "container": "project", "display": "user", "full": "user", "first": "user", "last": "user", "given": "user", "real": "user",
          "nick": "user", "node": "host", "host": "host", "computer": "host", "cluster": "site", "account": "group", "user": "user", "login": "user",
          "group": "group", "project": "project", "domain": "site", "team": "group", "pod": "project", "bucket": "project", "machine": "host",
          "namespace": "group", "reservation": "group", "experiment": "project", "share": "project", "vm": "host", "server": "host", "owner": "user"}  # fmt: skip
"""What a name is of, by the word before `name`."""
_ABOVE = {"metadata": "project", "tags": "host", "involvedobject": "project", "subjects": "user", "jobs": "project", "account": "group", "user": "user", "users": "user", "author": "user", "authors": "user", "clusters": "site", "contexts": "site",
          "context": "site", "hosts": "host", "nodes": "host", "node": "host", "host": "host", "owner": "user", "submitter": "user", "creator": "user",
          "imagepullsecrets": "group", "team": "group", "organization": "group", "project": "project", "job": "project", "server": "host",
          "source": "group", "tenant": "group", "group": "group", "groups": "group", "labels": "", "cluster": "site",
          "reporter": "user", "assignee": "user", "person": "user", "contact": "user", "customer": "group", "machine": "host", "nfs": "host"}  # fmt: skip
_NOT = frozenset(
    "mac physical hardware email mail bus base start virtual numa render gpu cpu device pci memory cuda hip rocm kfd node_type max min num count total per visible xgmi hive boot power clock voltage"
    " default_runtime language arch os image x_display is has can allow use used no type kernel module target_arch time in update docker tz sched"
    " nvlink fabric state partition drm sub from card".split()
)  # fmt: skip
"""Words before a noun that make it another thing: `numa_node`, `gpu_host`."""
_STRONG_BEFORE = frozenset("slurm slurmd slurmctld sbatch salloc pbs lsf lsb job batch".split())
_TAIL = frozenset(("id", "ids", "name", "names", "list", "s"))
_CAMEL = Lazy(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PARTS = Lazy(r"[A-Za-z0-9]+")


def words_of(key: str) -> list[str]:
    """Its words, in small letters."""
    parts = _PARTS.made.findall(_CAMEL.sub("_", key))
    return [part.lower() for part in parts]


@lru_cache(maxsize=8192)
def kind_of(key: str, above: Sequence[str] = ()) -> str:
    """Kind of name that a value under that key is; "" where the key says none. `above` are the keys around it."""
    before, _, key = key.rpartition("/")[2].rpartition(".")
    above = (before.rpartition(".")[2],) if before else above
    words = words_of(key)
    if not words or len(words) > 6:
        return ""
    if words in (["name"], ["id"], ["names"], ["title"], ["full", "name"], ["login"], ["server"], ["username"]):
        of_above = _above(above)
        if of_above or words in (["name"], ["id"], ["names"], ["title"]):
            return of_above
    joined = "".join(words)
    if joined in _NOUNS:
        return _NOUNS[joined]
    last = words[-1]
    if last in ("name", "names") and len(words) > 1:
        return "" if len(words) > 2 and words[-3] in _NOT else _WORDS.get(words[-2], "")
    while len(words) > 1 and last in _TAIL:
        words = words[:-1]
        last = words[-1]
    kind = _NOUNS.get(last, "")
    before = words[-2] if len(words) > 1 else ""
    return "" if before in _NOT and words[0] not in _STRONG_BEFORE else kind


def _above(above: Sequence[str]) -> str:
    for key in reversed(above):
        if key:
            words = words_of(key.rpartition("/")[2])
            return _ABOVE.get(words[-1], "") if words else ""
    return ""
