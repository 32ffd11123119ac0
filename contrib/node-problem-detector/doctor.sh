#!/bin/sh
# A custom plugin of node-problem-detector: exit 0 good, 1 problem, 2 not known; one line of at most 80 bytes.
doctor=${DOCTOR:-/usr/local/bin/doctor}
[ -x "$doctor" ] || { echo "doctor: not installed"; exit 2; }
timeout -k 5 "${DOCTOR_TIMEOUT:-30}" "$doctor" fleet health --for npd ${DOCTOR_GPUS:+--gpus "$DOCTOR_GPUS"}
code=$?
case $code in
  0 | 1 | 2) exit $code ;;
  124) echo "doctor: no answer in time"; exit 2 ;;
  *) echo "doctor: could not check"; exit 2 ;;
esac
