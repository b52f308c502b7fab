# Installs a lock file into $VENV, created if need be; with --editable, this checkout too.
# uv installs in a third of pip's time; where it cannot reach an index, pip does the same.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
lock=$1
python=$VENV/bin/python
uv_pin=$(sed -n 's/^\(uv==[^ ;]*\).*/\1/p' "$here/locks/requirements.txt")

if ! "$python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  base=$(PYTHON=${PYTHON:-} bash "$here/python.sh")
  echo "creating $VENV with $("$base" --version)"
  "$base" -m venv --clear "$VENV"
fi

say="installing $lock"
pip() { "$python" -m pip install --quiet --disable-pip-version-check "$@"; }
[[ -x $VENV/bin/uv ]] || pip --no-compile "$uv_pin"

echo "$say"
fast() { "$VENV/bin/uv" pip install --quiet --python "$python" "$@"; }
if ! fast --no-deps --compile-bytecode --requirements "$lock"; then
  echo "uv could not install it; trying pip" >&2
  pip --no-deps --requirement "$lock"
fi

if [[ ${2:-} == --editable ]]; then
  fast --no-deps --no-build-isolation --editable . || pip --no-deps --no-build-isolation --editable .
  # A syntax error is for the tests to tell, not for the set-up.
  "$python" -m compileall -qq schemas handlers state streams || true
fi
