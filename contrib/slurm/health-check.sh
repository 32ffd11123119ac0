#!/bin/sh
# Slurm's HealthCheckProgram: drains this node when its GPUs are broken, with the finding as its reason.
#   slurm.conf:  HealthCheckProgram=/etc/slurm/doctor-health-check.sh
#                HealthCheckInterval=300
#                HealthCheckNodeState=ANY
# slurmd kills it after 60 seconds and ignores its exit code. A node that somebody else drained keeps their reason; if
# Slurm drained it for a failed prolog or epilog, and doctor finds why, the reason becomes doctor's.
# With DOCTOR_RESUME=1 a node with doctor's reason takes jobs again once it is healthy.
set -u
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH HOME="${HOME:-/root}"
# shellcheck source=/dev/null
[ -r /etc/default/doctor ] && . /etc/default/doctor
doctor=${DOCTOR:-/usr/local/bin/doctor}
[ -x "$doctor" ] || exit 0
node=${SLURMD_NODENAME:-$(hostname -s)}
line=$(timeout -k 5 "${DOCTOR_TIMEOUT:-40}" "$doctor" fleet health --for slurm-health ${DOCTOR_GPUS:+--gpus "$DOCTOR_GPUS"})
code=$?
state=$(scontrol show node "$node" --oneliner 2>/dev/null)
reason=$(printf '%s\n' "$state" | sed -n 's/.*[[:space:]]Reason=\(.*\)$/\1/p')
case $code in
  1)
    # Already drained: by us with the same words, or by somebody whose reason must stay.
    case $state in *State=*DRAIN*) case $reason in doctor:* | "Prolog error"* | "Epilog error"*) ;; *) exit 0 ;; esac ;; esac
    case $reason in "$line"*) exit 0 ;; esac
    scontrol update NodeName="$node" State=DRAIN Reason="$line"
    ;;
  0)
    case $line in "doctor: ok"*) ;; *) exit 0 ;; esac
    if [ "${DOCTOR_RESUME:-0}" = 1 ]; then
      case $reason in doctor:*) scontrol update NodeName="$node" State=RESUME ;; esac
    fi
    ;;
esac
exit 0
