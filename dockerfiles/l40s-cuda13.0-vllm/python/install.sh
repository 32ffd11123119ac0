#!/bin/sh
# install.sh PYTHON [--target FOLDER] LIST…: installs the packages of the lists. A list with --require-hashes is complete:
# nothing else is resolved, and what does not have its hash is refused. The secrets pip_conf (an index, credentials),
# netrc and ca are obeyed, and are in no layer. Wheels in the build context `wheels` are taken from there.
set -eu
here=$(dirname "$0")
python=$1
shift
export PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_PROGRESS_BAR=off
# The order of sets is in compiled files.
export PYTHONHASHSEED=0
if [ -s /run/secrets/ca ]; then export PIP_CERT=/run/secrets/ca; fi
if [ -s /run/secrets/pip_conf ]; then export PIP_CONFIG_FILE=/run/secrets/pip_conf; fi
if [ -s /run/secrets/netrc ]; then export NETRC=/run/secrets/netrc; fi
target=
if [ "$1" = --target ]; then
  target=$2
  shift 2
fi
for list in "$@"; do
  set -- install --find-links /run/wheels -r "$here/$list"
  # With --target pip compiles in a folder of a random name, which every compiled file would bear.
  if [ -n "$target" ]; then set -- "$@" --target "$target" --no-compile; fi
  if grep -q '^--require-hashes$' "$here/$list"; then set -- "$@" --no-deps; fi
  if [ -e "$here/constraints.txt" ] && [ -z "$target" ]; then set -- "$@" -c "$here/constraints.txt"; fi
  "$python" -m pip "$@"
done
