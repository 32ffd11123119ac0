#!/bin/sh
# compile.sh PYTHON GIB LIST: compiles the packages of a list against the torch that is installed, with as many jobs as
# there are cores and times GIB of free memory. Variables that narrow it to the image's GPUs come from the environment.
# Where the base has no nvcc and its wheels are installed, a toolkit is made of links to them for as long as it takes.
set -eu
here=$(dirname "$0")
fit=$(awk -v gib="$2" '/^MemAvailable:/ { print int($2 / 1048576 / gib) }' /proc/meminfo)
cores=$(nproc)
jobs=$((fit < cores ? fit : cores))
MAX_JOBS=$((jobs > 1 ? jobs : 1))
export MAX_JOBS PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PYTHONHASHSEED=0
echo "compiling with $MAX_JOBS jobs: $cores cores, memory for $fit"
site=$("$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
toolkit=''
if [ -z "${CUDA_HOME:-}" ] && ! command -v nvcc >/dev/null && [ -x "$site/nvidia/cu13/bin/nvcc" ]; then
  toolkit=/opt/cuda-of-wheels
  mkdir -p $toolkit/lib64
  for part in bin include nvvm; do ln -s "$site/nvidia/cu13/$part" $toolkit/$part; done
  for library in "$site"/nvidia/*/lib/*.so*; do
    name=${library##*/}
    ln -sf "$library" "$toolkit/lib64/$name"
    ln -sf "$library" "$toolkit/lib64/${name%%.so*}.so"
  done
  export CUDA_HOME=$toolkit PATH="$toolkit/bin:$PATH"
fi
PATH="$(dirname "$1"):$PATH" # ninja
export PATH
if [ -s /run/secrets/ca ]; then export PIP_CERT=/run/secrets/ca GIT_SSL_CAINFO=/run/secrets/ca; fi
if [ -s /run/secrets/pip_conf ]; then export PIP_CONFIG_FILE=/run/secrets/pip_conf; fi
if [ -s /run/secrets/netrc ]; then export NETRC=/run/secrets/netrc; fi
# A wheel that pip kept from an earlier build may be of other targets.
"$1" -m pip install --no-cache-dir --no-deps --no-build-isolation --find-links /run/wheels -c "$here/constraints.txt" -r "$here/$3"
rm -rf "${toolkit:-/nonexistent}"
