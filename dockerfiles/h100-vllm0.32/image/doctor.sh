#!/bin/sh
# The doctor of this image, beside the workload's packages and out of their way.
while IFS='=' read -r name value; do
  case $name in python) python=$value ;; esac
done </etc/doctor/image.conf
exec "$python" -I -c 'import sys; sys.path.insert(0, "/opt/doctor"); from doctor.cli.main import main; main()' "$@"
