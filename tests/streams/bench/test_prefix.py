from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from schemas.usage import Usage
from streams.interfaces.cli.main import main
from streams.research.bench import prefix
from streams.research.bench.sums import sums


@pytest.mark.parametrize(
    ("prompt", "cached", "share"),
    [(200, 50, 0.25), (200, 0, 0.0), (200, None, None), (None, 50, None), (0, 0, None)],
)
def test_a_share_is_known_where_both_counts_are(
    prompt: int | None, cached: int | None, share: float | None
) -> None:
    found = prefix.figures(Usage(calls=3, prompt_tokens=prompt, cached_tokens=cached))
    assert found == {
        "calls": 3,
        "prompt_tokens": prompt,
        "cached_tokens": cached,
        "share": share,
    }


def test_the_table_has_a_dash_for_what_is_unknown() -> None:
    known = prefix.figures(Usage(calls=3, prompt_tokens=1_200, cached_tokens=300))
    unknown = prefix.figures(Usage(calls=2, prompt_tokens=None, cached_tokens=None))
    said = prefix.markdown([("cot", known), ("mc2", unknown)]).splitlines()
    assert said[0] == "| policy | calls | prompt tokens | cached | share |"
    assert said[2:] == ["| cot | 3 | 1,200 | 300 | 25.0 % |", "| mc2 | 2 | – | – | – |"]


def test_each_policy_works_on_the_same_problems_on_a_log_of_its_own(tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def command(arguments: Sequence[str]) -> int:
        asked.append([*arguments])
        return main([*arguments]) if arguments[0] == "produce" else 0

    prefix.run(command, ("cot", "mc2"), folder=tmp_path, backbone="rehearsal:seed=7", problems=3)
    assert [words[0] for words in asked] == ["produce", "worker", "produce", "worker"]
    lines = (tmp_path / "sums.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [*sums(3, prefix.SEED, "sum")]
    assert [words[1] for words in asked if words[0] == "produce"] == [f"{tmp_path}/sums.jsonl"] * 2
    seconds = [
        int(words[words.index("--total-time") + 1]) for words in asked if "--total-time" in words
    ]
    assert seconds == [3600, 3600], "an hour each"
    logs = [words[words.index("--log") + 1] for words in asked]
    assert logs == [str(tmp_path / f"{name}.db") for name in ("cot", "cot", "mc2", "mc2")]
    assert all("rehearsal:seed=7" in words for words in asked if words[0] == "worker")
