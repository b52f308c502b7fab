"""Laws of numbers: what decides, is hashed or is folded has the same bits on every processor."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.learning import elementary
from streams.replay.digest import log_digest
from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import end_of, produced, quick, worked
from tests.laws.reckoning import BATTERY, reckoned
from tests.processors import KERNELS, SMALL_CACHE, WITHOUT_FMA, said_there

pytestmark = pytest.mark.slow


def without_vectors() -> Mapping[str, str]:
    """NumPy's own loops as the oldest processors run them that it is built for."""
    core: Any = import_module("numpy._core._multiarray_umath")
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(core.__cpu_dispatch__)}


PROCESSORS: Mapping[str, Mapping[str, str]] = {
    **{kernel: {"OPENBLAS_CORETYPE": kernel, **SMALL_CACHE} for kernel in KERNELS},
    "without-fma": WITHOUT_FMA,
    "without-vectors": {**without_vectors(), **WITHOUT_FMA, "OPENBLAS_CORETYPE": "Prescott"},
}
LEARNERS: Mapping[str, Mapping[str, Any]] = {
    "graph_memory": {"batch_size": 4},
    "meta_reasoner": {"max_rounds": 2},
    "mgv_flavell": {"batch_size": 4},
    "mc2": {"batch_size": 4, "max_rounds": 2},
}
"""What learns by weights, regressions, rates and similarities."""


@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_processor_reckons_the_same(processor: str) -> None:
    there = said_there(
        "from tests.laws.reckoning import reckoned; print(reckoned())", PROCESSORS[processor]
    )
    here = json.loads(reckoned())
    assert list(here) == list(BATTERY)
    assert json.loads(there) == here


def test_the_stand_ins_do_differ_where_the_instructions_of_this_processor_allow_it() -> None:
    """Were they alike, equal figures would show nothing: the C library's own differ here."""
    show = "from math import exp; print([exp(-at / 997).hex() for at in range(20000)])"
    if said_there(show, {}) == said_there(show, WITHOUT_FMA):
        pytest.skip("this processor has one version of the C library's functions")
    there = said_there(show, PROCESSORS["without-vectors"])
    assert there == said_there(show, WITHOUT_FMA)


SERIES = """
from pathlib import Path
from tempfile import mkdtemp
from tests.laws.test_processors import series
print(series(Path(mkdtemp())))
"""


def series(folder: Path) -> str:
    """What learning policies that weigh, regress or calibrate came to, each on a log of its own."""
    made: dict[str, list[str]] = {}
    for policy in LEARNERS:
        produced(folder / f"{policy}.db", "game24:901-908", policy=policy, values=LEARNERS[policy])
        log = quick(SqliteLog(folder / f"{policy}.db"))
        worked(log)
        made[policy] = [log_digest(log), str(end_of(log).state)]
        log.close()
    return json.dumps(made)


def test_a_series_comes_to_the_same_on_another_processor(tmp_path: Path) -> None:
    there = said_there(SERIES, PROCESSORS["without-vectors"])
    assert json.loads(there) == json.loads(series(tmp_path))


# ── e to the power of x, and the logarithm ───────────────────────────────────────────────────


@given(st.floats(-700, 700))
def test_the_power_of_e_is_the_nearest_float_but_for_the_libraries_last_bit(x: float) -> None:
    near = math.exp(x)
    assert elementary.exp(x) in (near, math.nextafter(near, 0.0), math.nextafter(near, math.inf))


@given(st.floats(5e-324, 1e308))
def test_so_is_the_logarithm(x: float) -> None:
    near = math.log(x)
    assert elementary.log(x) in (
        near,
        math.nextafter(near, -math.inf),
        math.nextafter(near, math.inf),
    )


def test_beyond_a_float_is_infinite_and_no_logarithm_is_said_so() -> None:
    assert [elementary.exp(x) for x in (1e308, -1e308, 0.0)] == [math.inf, 0.0, 1.0]
    assert elementary.log(1.0) == 0.0
    for x in (0.0, -1.0):
        with pytest.raises(ArithmeticError, match="no logarithm"):
            elementary.log(x)
