#!/bin/sh
# Slurm's Epilog: the node is drained when its GPUs are broken.
#   slurm.conf:  Epilog=/etc/slurm/doctor-epilog.sh
# slurmd starts it as root with an empty environment. DOCTOR_GPUS: how many GPUs a node has, where all have as many.
# A doctor that is missing, slow or itself at fault lets the job run: only a known error stops it.
set -u
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH HOME="${HOME:-/root}"
# shellcheck source=/dev/null
[ -r /etc/default/doctor ] && . /etc/default/doctor
doctor=${DOCTOR:-/usr/local/bin/doctor}
[ -x "$doctor" ] || exit 0
timeout -k 5 "${DOCTOR_TIMEOUT:-30}" "$doctor" fleet health --for slurm-epilog ${DOCTOR_GPUS:+--gpus "$DOCTOR_GPUS"}
[ $? = 1 ] && exit 1
exit 0
