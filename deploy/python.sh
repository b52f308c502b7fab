# Prints the path of a Python that can run the project: $PYTHON if set, else the first that fits.
# A name on PATH proves nothing (a version manager's shim may refuse to run), so each is tried.
fits='import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))'
if [[ -n ${PYTHON:-} ]]; then
  candidates=("$PYTHON")
else
  candidates=(python3 python python3.13 python3.12 python3.11
              "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[123]*/bin/python3)
fi
for candidate in "${candidates[@]}"; do
  if "$candidate" -c "$fits" >/dev/null 2>&1; then
    "$candidate" -c 'import sys; print(sys.executable)'
    exit 0
  fi
done
found=$("${candidates[0]}" --version 2>&1 | head -n 1) || true
echo "metalogue needs Python 3.11, 3.12 or 3.13 with its venv module; ${candidates[0]} says: ${found:-nothing}" >&2
echo "Name another with: make setup PYTHON=/path/to/python3.13" >&2
exit 1
