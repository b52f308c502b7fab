#!/usr/bin/env bash
# A broker for development without Docker: start | stop | clean | url
# KAFKA_LOCAL_MORE names a file of more properties; the last of a name counts.
# Jars lie in the user's cache; the node's data, log and pid in $KAFKA_LOCAL_DIR. `start` prints kafka://HOST:PORT last.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
node=${KAFKA_LOCAL_DIR:-$here/../../build/kafka-local}
version=$(sed -n 's/.*<kafka.version>\(.*\)<.*/\1/p' "$here/pom.xml")
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

# The pid of a running node of ours: the number alone may belong to another process by now.
alive() {
  [[ -f $node/pid ]] || return 1
  local pid; pid=$(<"$node/pid")
  [[ -r /proc/$pid/cmdline ]] || { kill -0 "$pid" 2>/dev/null; return; }
  tr '\0' ' ' <"/proc/$pid/cmdline" | grep -qF "$node/server.properties"
}

free_ports() {
  python3 -c 'import socket
held = [socket.socket() for _ in range(2)]
for each in held: each.bind(("127.0.0.1", 0))
print(*(each.getsockname()[1] for each in held))'
}

configure() {
  read -r port controller < <(free_ports)
  sed -e "s|@PORT@|$port|g" -e "s|@CONTROLLER@|$controller|g" -e "s|@DATA@|$node/data|g" \
    "$here/server.properties.in" ${KAFKA_LOCAL_MORE:+"$KAFKA_LOCAL_MORE"} >"$node/server.properties"
  echo "$port" >"$node/port"
  local id  # as kafka.tools.StorageTool random-uuid makes it, without a Java machine for it; never like an option
  id=$(python3 -c 'import base64, uuid; print(base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[:22].replace("-", "_"))')
  java -cp "$jars/*" -Dlog4j2.configurationFile="$here/log4j2.yaml" kafka.tools.StorageTool \
    format -t "$id" -c "$node/server.properties" --standalone >"$node/format.log" 2>&1 || die "$(tail -3 "$node/format.log")"
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
  if ! alive; then
    [[ -f $node/server.properties ]] || configure
    setsid nohup java -Xmx512m -XX:+UseSerialGC -Dlog4j2.configurationFile="$here/log4j2.yaml" \
      -cp "$jars/*" kafka.Kafka "$node/server.properties" >>"$node/broker.log" 2>&1 </dev/null &
    echo $! >"$node/pid"
    say "starting Apache Kafka $version, process $(<"$node/pid"), data in $node"
  fi
  for _ in $(seq 240); do
    ready "$(<"$node/port")" 2>/dev/null && { echo "kafka://127.0.0.1:$(<"$node/port")"; return; }
    alive || die "it ended: $(tail -5 "$node/broker.log")"
    sleep 0.25
  done
  die "not ready after a minute; see $node/broker.log"
}

stop() {
  if alive; then
    local pid; pid=$(<"$node/pid")
    kill -TERM "$pid"
    for _ in $(seq 120); do alive || break; sleep 0.25; done
    alive && kill -KILL "$pid"
    say "stopped process $pid; its data stays in $node"
  fi
  rm -f "$node/pid"
}

[[ -d $node ]] && node=$(cd "$node" && pwd)  # as the running node's command line has it
case ${1:-} in
  start) start ;;
  stop) stop ;;
  clean) stop; rm -rf "$node" ;;
  url) alive && echo "kafka://127.0.0.1:$(<"$node/port")" ;;
  *) die "say start, stop, clean or url" ;;
esac
