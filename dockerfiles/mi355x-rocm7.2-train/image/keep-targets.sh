#!/bin/sh
# keep-targets.sh TARGETS FOLDER…: of the BLAS kernels that are files of their own and name their GPU, keeps those of the
# targets (comma between them) and the generic ones. Libraries with code for many GPUs in one file are left as they are.
set -eu
targets=$1
shift
for folder in "$@"; do
  for library in "$folder"/rocblas "$folder"/rocblas/*/library "$folder"/rocblas/library "$folder"/hipblaslt/library; do
    [ -d "$library" ] || continue
    set -- find "$library" -type f -name '*gfx*' ! -name '*generic*'
    for target in $(echo "$targets" | tr , ' '); do set -- "$@" ! -name "*$target*"; done
    "$@" -delete
  done
done
