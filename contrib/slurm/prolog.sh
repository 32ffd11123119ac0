#!/bin/sh
# Slurm's Prolog: drains the node when its GPUs are broken and requeues the job on another.
#   slurm.conf:  Prolog=/etc/slurm/doctor-prolog.sh
#                PrologFlags=Alloc
# slurmd starts it as root with an empty environment. DOCTOR_GPUS: the number of GPUs, if all nodes have the same.
# If doctor is missing, slow or fails, the job runs: only a known error stops it.
set -u
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH HOME="${HOME:-/root}"
# shellcheck source=/dev/null
[ -r /etc/default/doctor ] && . /etc/default/doctor
doctor=${DOCTOR:-/usr/local/bin/doctor}
[ -x "$doctor" ] || exit 0
timeout -k 5 "${DOCTOR_TIMEOUT:-30}" "$doctor" fleet health --for slurm-prolog ${DOCTOR_GPUS:+--gpus "$DOCTOR_GPUS"}
[ $? = 1 ] && exit 1
exit 0
