#!/usr/bin/env bash
# A broker for development without Docker: start | stop | clean | url
# BROKERS=3 makes a cluster of three on its first start: three copies of everything, two of which must be in sync.
# KAFKA_LOCAL_MORE names a file of more properties; the last of a name counts.
# Jars lie in the user's cache; data, log and pid in $KAFKA_LOCAL_DIR, of a cluster in its folders 1, 2, 3.
# `start` starts what does not run, and prints kafka://HOST:PORT[,HOST:PORT] last.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
node=${KAFKA_LOCAL_DIR:-$here/../../build/kafka-local}
version=$(sed -n 's/.*<kafka.version>\(.*\)<.*/\1/p' "$here/pom.xml")
brokers=${BROKERS:-1}
jars=${XDG_CACHE_HOME:-$HOME/.cache}/metalogue/kafka-$version

say() { echo "$*" >&2; }
die() { say "broker: $*"; exit 1; }

fetch() {
  [[ -f $jars/.complete ]] && return
  command -v mvn >/dev/null || die "Maven is not installed (mvn), so Apache Kafka cannot be fetched"
  say "fetching Apache Kafka $version"
  mkdir -p "$jars"
  exec 9>"$jars/.lock" && flock 9
  [[ -f $jars/.complete ]] && return
  mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$jars" >&2 || die "Maven could not fetch Apache Kafka $version"
  touch "$jars/.complete"
  exec 9>&-
}

# Where the nodes lie: one in the folder itself, several in folders of it.
nodes() {
  if [[ -d $node/1 ]]; then printf '%s\n' "$node"/[0-9]*
  elif ((brokers > 1)) && [[ ! -f $node/server.properties ]]; then seq -f "$node/%.0f" "$brokers"
  else echo "$node"; fi
}

# The pid of a running node of ours: the number alone may belong to another process by now.
alive() {
  [[ -f $1/pid ]] || return 1
  local pid; pid=$(<"$1/pid")
  [[ -r /proc/$pid/cmdline ]] || { kill -0 "$pid" 2>/dev/null; return; }
  tr '\0' ' ' <"/proc/$pid/cmdline" | grep -qF "$1/server.properties"
}

# Below the range from which systems give ports: while a broker starts, or is stopped, nobody is given its own.
free_ports() {
  python3 - "$1" <<'P'
import random, socket, sys
held = []
while len(held) < int(sys.argv[1]):
    asked = socket.socket()
    try:
        asked.bind(("127.0.0.1", random.randrange(20_000, 32_000)))
    except OSError:
        continue
    held.append(asked)
print(*(each.getsockname()[1] for each in held))
P
}

configure() {  # configure FOLDER...
  local each id voters='' ports number=0 more="$node/more.properties"
  # shellcheck disable=SC2207 # they are numbers
  ports=($(free_ports $((2 * $#))))
  for each in "$@"; do
    voters+=${voters:+,}$((++number))@127.0.0.1:${ports[2 * number - 1]}
  done
  : >"$more"
  if (($# > 1)); then
    sed -n "s/^\(.*replication.factor\)=1$/\1=$#/p; s/^\(.*min.isr\|min.insync.replicas\)=1$/\1=$(($# - 1))/p" \
      "$here/server.properties.in" >"$more"
    echo "controller.quorum.voters=$voters" >>"$more"
  fi
  # as kafka.tools.StorageTool random-uuid makes it, without a Java machine for it; never like an option
  id=$(python3 -c 'import base64, uuid; print(base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[:22].replace("-", "_"))')
  number=0
  for each in "$@"; do
    mkdir -p "$each"
    sed -e "s|@NODE@|$((number + 1))|g" -e "s|@PORT@|${ports[2 * number]}|g" \
      -e "s|@CONTROLLER@|${ports[2 * number + 1]}|g" -e "s|@DATA@|$each/data|g" \
      "$here/server.properties.in" "$more" ${KAFKA_LOCAL_MORE:+"$KAFKA_LOCAL_MORE"} >"$each/server.properties"
    (($# == 1)) || sed -i '/^controller.quorum.bootstrap.servers/d' "$each/server.properties"
    echo "${ports[2 * number]}" >"$each/port"
    java -cp "$jars/*" -Dlog4j2.configurationFile="$here/log4j2.yaml" kafka.tools.StorageTool \
      format -t "$id" -c "$each/server.properties" $( (($# > 1)) || echo --standalone) >"$each/format.log" 2>&1 \
      || die "$(tail -3 "$each/format.log")"
    number=$((number + 1))
  done
}

ready() {
  python3 - "$1" <<'P'
import socket, struct, sys
# ApiVersions, version 0: the first thing that a broker answers when it serves.
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=2) as link:
    link.settimeout(2)
    link.sendall(struct.pack(">ihhih", 10, 18, 0, 7, -1))
    size = struct.unpack(">i", link.recv(4))[0]
    sys.exit(0 if size > 4 else 1)
P
}

start() {
  command -v java >/dev/null || die "Java 17 or later is not installed"
  fetch
  mkdir -p "$node"
  node=$(cd "$node" && pwd)
  local each here_are
  mapfile -t here_are < <(nodes)
  [[ -f ${here_are[-1]}/server.properties ]] || configure "${here_are[@]}"
  for each in "${here_are[@]}"; do alive "$each" || launch "$each"; done
  for each in "${here_are[@]}"; do await "$each"; done
  url
}

launch() {
  local heap=512m
  [[ $1 == "$node" ]] || heap=256m
  setsid nohup java "-Xmx$heap" -XX:+UseSerialGC -Dlog4j2.configurationFile="$here/log4j2.yaml" \
    -cp "$jars/*" kafka.Kafka "$1/server.properties" >>"$1/broker.log" 2>&1 </dev/null &
  echo $! >"$1/pid"
  say "starting Apache Kafka $version, process $(<"$1/pid"), data in $1"
}

await() {
  for _ in $(seq 240); do
    ready "$(<"$1/port")" 2>/dev/null && return
    alive "$1" || die "it ended: $(tail -5 "$1/broker.log")"
    sleep 0.25
  done
  die "not ready after a minute; see $1/broker.log"
}

url() {
  local each places=''
  while read -r each; do places+=${places:+,}127.0.0.1:$(<"$each/port"); done < <(nodes)
  echo "kafka://$places"
}

stop() {
  local each
  for each in $(nodes); do
    if alive "$each"; then kill -TERM "$(<"$each/pid")"; fi
  done
  for each in $(nodes); do
    for _ in $(seq 120); do alive "$each" || break; sleep 0.25; done
    if alive "$each"; then kill -KILL "$(<"$each/pid")"; fi
    [[ ! -f $each/pid ]] || say "stopped process $(<"$each/pid"); its data stays in $each"
    rm -f "$each/pid"
  done
}

[[ -d $node ]] && node=$(cd "$node" && pwd)  # as the running node's command line has it
case ${1:-} in
  start) start ;;
  stop) stop ;;
  clean) stop; rm -rf "$node" ;;
  url) for each in $(nodes); do alive "$each" || exit 1; done; url ;;
  *) die "say start, stop, clean or url" ;;
esac
