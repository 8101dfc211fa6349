# What the peers' scripts share. Each script defines settings, version, install_peer and start_peer, sources this file
# and calls `dispatch "$@"`.

peer=$(basename "$0")
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# Where peers live that no system package brings.
installed=${FANFARE_PEERS:-$repository/.build/peers}

fail() {
  echo "$peer: $*" >&2
  exit 1
}

# need PROGRAM: its path, or a sentence that says how to get it. System programs may stand in sbin, outside PATH.
need() {
  PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" command -v "$1" ||
    fail "$1 is not installed; run \"benchmarks/peers/$peer install\"."
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    command -v sudo > /dev/null || fail "installing packages needs root; run \"benchmarks/peers/$peer install\" as root."
    sudo "$@"
  fi
}

# apt_install PACKAGE...: installs what is missing, without starting the services that come with it.
apt_install() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${Status}' "$package" 2> /dev/null)" = "install ok installed" ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get > /dev/null ||
    fail "there is no apt-get here; install ${missing[*]} with this system's package manager."
  # Debian asks this file before it starts a service. One that stands there already has its reasons.
  local policy=/usr/sbin/policy-rc.d made=
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" > /dev/null
    as_root chmod 755 "$policy"
    made=yes
  fi
  local status=0
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" || {
    as_root apt-get update
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" || status=1
  }
  [ -z "$made" ] || as_root rm -f "$policy"
  [ "$status" = 0 ] || fail "${missing[*]} could not be installed; see above."
}

# raise_limits: as many open files as this process may have.
raise_limits() {
  ulimit -n "$(ulimit -Hn)" 2> /dev/null || true
}

# connections: how many clients may connect at most, given the open-file limit.
connections() {
  local limit
  limit=$(ulimit -Hn)
  if [ "$limit" = unlimited ] || [ "$limit" -gt 200000 ]; then limit=200000; fi
  echo $((limit - 200))
}

usage() {
  fail "say one of: install; version; settings; start FOLDER PORT (FOLDER is a folder for its files; clients connect to PORT, and up to 3 ports after it are taken too)."
}

dispatch() {
  case "${1:-}" in
    install)
      [ $# = 1 ] || usage
      install_peer
      ;;
    version)
      [ $# = 1 ] || usage
      version
      ;;
    settings)
      [ $# = 1 ] || usage
      settings
      ;;
    start)
      [ $# = 3 ] || usage
      case "$3" in
        '' | *[!0-9]*) fail "PORT must be a number, not \"$3\"." ;;
      esac
      [ "${#3}" -le 5 ] && [ "$3" -ge 1 ] && [ "$3" -le 65532 ] || fail "PORT must be between 1 and 65532, not $3."
      mkdir -p "$2" || fail "the folder $2 cannot be made."
      raise_limits
      start_peer "$(cd "$2" && pwd)" "$3"
      ;;
    *) usage ;;
  esac
}
