#!/bin/sh
# A custom plugin of node-problem-detector: exit 0 good, 1 problem, 2 not known; one line of at most 80 bytes.
# doctor.sh SCOPE: only findings of that scope (hardware, firmware, driver, host); all of the node itself without it.
# In the detector's pod, which has no Python: mount the node's root and set DOCTOR_NODE_ROOT to where, such as /host.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
doctor=${DOCTOR:-/usr/local/bin/doctor}
root=${DOCTOR_NODE_ROOT:-}
[ -x "$root$doctor" ] || { echo "doctor: not installed"; exit 2; }
set -- "$doctor" fleet health --for npd ${1:+--scope "$1"} ${DOCTOR_GPUS:+--gpus "$DOCTOR_GPUS"}
[ -z "$root" ] || set -- chroot "$root" "$@"
line=$(timeout -k 5 "${DOCTOR_TIMEOUT:-30}" "$@")
code=$?
case $code in
  0 | 1 | 2) echo "$line" ;;
  124 | 137) echo "doctor: no answer in time"; code=2 ;;
  *) echo "doctor: could not check"; code=2 ;;
esac
exit $code
