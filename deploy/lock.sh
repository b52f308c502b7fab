# Regenerates the lock files from pyproject.toml: one set, valid for Python 3.11 to 3.13.
# models.txt is no output: two wheels that carry nothing but a model, pinned by hand.
# Present pins are kept where they still fit; `make lock` with UPGRADE=1 takes the newest.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-$([[ -x .venv/bin/uv ]] && echo .venv/bin/uv || command -v uv)} || {
  echo "make lock needs uv: run make setup first" >&2; exit 1; }
# In constraints.txt stands what one list holds back for another, so that a package has one version in all of them.
locks=deploy/locks
compile() {
  UV_CUSTOM_COMPILE_COMMAND='make lock' "$uv" pip compile pyproject.toml --quiet --universal \
    --python-version 3.11 --no-emit-index-url --no-emit-find-links --constraint $locks/constraints.txt \
    ${UPGRADE:+--upgrade} --extra openai --extra math --extra web --extra serve --extra plots --group build "$@"
}
compile --output-file $locks/requirements.txt
compile --extra local --constraint $locks/requirements.txt --output-file $locks/requirements-local.txt
compile --group dev --extra local --extra otel --extra mcp --extra sign --constraint $locks/requirements.txt --output-file $locks/requirements-dev.txt
# What the providers' library brings along is much, and it sees keys: each file by its hash, and all within what the
# rest pins.
compile --extra providers --generate-hashes --no-annotate --constraint $locks/requirements-dev.txt --output-file $locks/requirements-providers.txt
# The official SDK of the Model Context Protocol: it speaks to programs that are not ours, so each file by its hash.
compile --extra mcp --generate-hashes --no-annotate --constraint $locks/requirements-dev.txt --output-file $locks/requirements-mcp.txt
# For `make test-train` alone, by hash: PyTorch with all that its index's wheels for Linux want, which is much.
compile --extra train --group training --generate-hashes --no-annotate --constraint $locks/requirements.txt --output-file $locks/train.txt
# By hash and without what they name: openvino-telemetry would be among it, and only a converter that we
# never run uses that.
grep -oE '"openvino[a-z-]*>=[0-9.]+"' pyproject.toml | tr -d '"' |
  UV_CUSTOM_COMPILE_COMMAND='make lock' "$uv" pip compile - --quiet --universal --python-version 3.11 \
    --no-deps --generate-hashes --no-emit-index-url --no-emit-find-links ${UPGRADE:+--upgrade} \
    --output-file $locks/openvino.txt
# What looks at chart and compose in tests; what else they need stands in the development lock.
printf '%s\n' helm-python-sdk kubernetes-validate compose-spec importlib-resources |
  UV_CUSTOM_COMPILE_COMMAND='make lock' "$uv" pip compile - --quiet --universal --python-version 3.11 \
    --no-deps --generate-hashes --no-emit-index-url --no-emit-find-links ${UPGRADE:+--upgrade} \
    --output-file $locks/chart.txt
