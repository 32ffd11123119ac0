#!/bin/sh
# Installs the packages of the given lists (name=version a line) and leaves nothing in the layer that differs between two
# runs. Sources: the secret apt_sources, else the dated ones of the lock (sources.list beside this file), else the base's.
# With dated sources the base's own are left out, all but those of vendors, which have no archive by date.
# The secret apt_conf (a proxy, credentials) and the secret ca are obeyed, and are in no layer. Where the build context
# `wheels` holds packages of the distribution, they are taken from there, all of them, and nothing is downloaded.
set -eu
here=$(dirname "$0")
list=$(mktemp)
for file in "$@"; do grep -v '^#' "$here/$file" >>"$list" || true; done
if [ ! -s "$list" ]; then
  rm -f "$list"
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
set -- -q -o Acquire::Retries=3 -o Acquire::Languages=none
if [ -s /run/secrets/apt_conf ]; then set -- "$@" -c /run/secrets/apt_conf; fi
if [ -s /run/secrets/ca ]; then set -- "$@" -o Acquire::https::CAInfo=/run/secrets/ca; fi
parts=$(mktemp -d)
for sources in /run/secrets/apt_sources "$here/sources.list"; do
  if [ -s "$sources" ]; then
    set -- "$@" -o "Dir::Etc::SourceList=$sources" -o "Dir::Etc::SourceParts=$parts" -o Acquire::Check-Valid-Until=false
    [ "$sources" = /run/secrets/apt_sources ] || grep -LsE 'ubuntu\.com|debian\.org' /etc/apt/sources.list.d/* |
      xargs -r cp -t "$parts"
    break
  fi
done
if ls /run/wheels/*.deb >/dev/null 2>&1; then
  files=$(mktemp)
  while IFS='=' read -r name version; do
    for file in "/run/wheels/${name}_$(echo "$version" | sed 's/:/%3a/g')"_*.deb; do
      [ -e "$file" ] || { echo "E: $name=$version is not among the packages at hand" >&2; exit 100; }
      echo "$file" >>"$files"
    done
  done <"$list"
  set -- "$@" -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=/dev/null
  xargs -a "$files" apt-get "$@" install -y --no-install-recommends --allow-downgrades
  rm -f "$files"
else
  apt-get "$@" update
  xargs -a "$list" apt-get "$@" install -y --no-install-recommends --allow-downgrades
fi
rm -rf "$list" "$parts" /var/log/apt/* /var/log/dpkg.log /var/log/alternatives.log /var/log/bootstrap.log \
  /var/cache/ldconfig/aux-cache /var/cache/debconf/*-old /var/lib/dpkg/*-old
