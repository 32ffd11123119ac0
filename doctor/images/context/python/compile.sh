#!/bin/sh
# compile.sh PYTHON GIB LIST: compiles the packages of a list against the torch that is installed, with as many jobs as
# there are cores and times GIB of free memory. Variables that narrow it to the image's GPUs come from the environment.
set -eu
here=$(dirname "$0")
fit=$(awk -v gib="$2" '/^MemAvailable:/ { print int($2 / 1048576 / gib) }' /proc/meminfo)
cores=$(nproc)
jobs=$((fit < cores ? fit : cores))
MAX_JOBS=$((jobs > 1 ? jobs : 1))
export MAX_JOBS PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PYTHONHASHSEED=0
echo "compiling with $MAX_JOBS jobs: $cores cores, memory for $fit"
if [ -s /run/secrets/ca ]; then export PIP_CERT=/run/secrets/ca; fi
if [ -s /run/secrets/pip_conf ]; then export PIP_CONFIG_FILE=/run/secrets/pip_conf; fi
if [ -s /run/secrets/netrc ]; then export NETRC=/run/secrets/netrc; fi
"$1" -m pip install --no-deps --no-build-isolation --find-links /run/wheels -c "$here/constraints.txt" -r "$here/$3"
