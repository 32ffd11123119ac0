#!/bin/sh
# Says what would make the workload fail, before it fails, and runs it all the same: what is missing among the devices,
# which group is needed, and whether torch is still the one that the image was built with. Quiet where all is well.
# DOCTOR_REQUIRE_GPU=1: end with 78 instead of running without a GPU. DOCTOR_QUIET=1: say nothing.
set -u
profile='' vendor='' torch='' runtime='' site=''
# Written at build: name=value a line, values of letters, digits and . + / - only.
while IFS='=' read -r name value; do
  case $name in
    profile) profile=$value ;; vendor) vendor=$value ;; torch) torch=$value ;;
    runtime) runtime=$value ;; site) site=$value ;;
  esac
done </etc/doctor/image.conf
missing=''
say() { [ -n "${DOCTOR_QUIET:-}" ] || echo "doctor: $*" >&2; }
no_gpu() {
  missing=yes
  say "$*"
}

amd() {
  if [ -e /dev/dxg ]; then return; fi
  if [ ! -e /dev/kfd ]; then
    no_gpu "no /dev/kfd in this container: start it with 'doctor run', or --device /dev/kfd --device /dev/dri (CDI: --device amd.com/gpu=all)"
    return
  fi
  for node in /dev/kfd /dev/dri/renderD*; do
    if [ ! -e "$node" ]; then
      no_gpu "no render node in this container: add --device /dev/dri"
    elif [ ! -r "$node" ] || [ ! -w "$node" ]; then
      gid=$(stat -c %g "$node")
      no_gpu "uid $(id -u) may not open $node, which belongs to gid $gid: add --group-add $gid"
    fi
  done
}

nvidia() {
  if [ -e /dev/dxg ]; then return; fi
  if [ ! -e /dev/nvidiactl ]; then
    no_gpu "no NVIDIA device in this container: start it with 'doctor run', or --gpus all (CDI: --device nvidia.com/gpu=all)"
    return
  fi
  for node in /dev/nvidiactl /dev/nvidia[0-9]*; do
    if [ ! -e "$node" ]; then
      no_gpu "/dev/nvidiactl is here and no GPU: which are passed says NVIDIA_VISIBLE_DEVICES=${NVIDIA_VISIBLE_DEVICES:-}"
    elif [ ! -r "$node" ] || [ ! -w "$node" ]; then
      gid=$(stat -c %g "$node")
      no_gpu "uid $(id -u) may not open $node, which belongs to gid $gid: add --group-add $gid"
    fi
  done
  if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' && ! ls /usr/lib/*/libcuda.so.1 /usr/lib64/libcuda.so.1 >/dev/null 2>&1; then
    no_gpu "no libcuda.so.1: the driver capability compute was not passed (NVIDIA_DRIVER_CAPABILITIES=${NVIDIA_DRIVER_CAPABILITIES:-})"
  fi
}

same_torch() {
  [ -n "$torch" ] && [ -n "$site" ] || return 0
  there=$(sed -n "s/^__version__ = ['\"]\\([^'\"]*\\)['\"].*/\\1/p" "$site/torch/version.py" 2>/dev/null)
  case $vendor in amd) key=hip ;; *) key=cuda ;; esac
  built=$(sed -n "s/^$key\\(: [^=]*\\)\\{0,1\\} = ['\"]\\([^'\"]*\\)['\"].*/\\2/p" "$site/torch/version.py" 2>/dev/null)
  case $torch in *+*) wanted=$torch ;; *) there=${there%%+*} wanted=$torch ;; esac
  if [ "$there" != "$wanted" ]; then
    say "torch is ${there:-not there}, and this image was built with $torch: something replaced it; start from a fresh container"
  elif [ -n "$runtime" ]; then
    case $built in
      "$runtime" | "$runtime".*) ;;
      *) say "torch $there has $key ${built:-none}, and this image was built with $key $runtime: something replaced it" ;;
    esac
  fi
}

case $vendor in amd) amd ;; nvidia) nvidia ;; esac
same_torch
if [ -n "$missing" ] && [ "${DOCTOR_REQUIRE_GPU:-}" = 1 ]; then
  say "not started: DOCTOR_REQUIRE_GPU=1 ($profile)"
  exit 78
fi
while IFS='=' read -r name value; do
  case $name in '' | '#'*) continue ;; esac
  eval "[ -n \"\${$name+set}\" ]" || export "$name=$value"
done </etc/doctor/environment
# An arbitrary user id has no home of its own.
if [ ! -w "${HOME:-/}" ]; then export HOME=/tmp; fi
exec "$@"
