"""What `cot` loses of what a model solves when it is asked plainly: causes, sums, and going on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.events.episode import Completed
from streams.interfaces.cli.bench.reading import CHATS, LOGS, ways
from streams.interfaces.cli.main import main
from streams.research.bench import reading
from streams.research.bench.reading import COT, FREE, PLAIN, ReadReply
from tests.streams.bench.worlds import case

QUICK = "rehearsal:seed=7"
BOXED, SAID = r"So \boxed{7}.", "Together they have 7 apples."


def said(
    name: str, text: str, answer: str | None, *, finish: str = "stop", tokens: int = 10
) -> ReadReply:
    right = reading.is_right(answer, "7")
    return ReadReply(
        id=name, text=text, finish=finish, answer=answer, right=right, completion_tokens=tokens
    )


def test_a_bare_reply_is_read_leniently_but_not_when_it_was_cut() -> None:
    assert reading.plain_said("a", SAID, "stop", "7", (5, 9)).right
    assert reading.plain_said("a", BOXED, "stop", "7", (5, 9)).right
    cut = reading.plain_said("a", SAID, "length", "7", (5, 9))
    assert (cut.answer, cut.right) == (None, False)


@pytest.mark.parametrize(
    ("failed", "free", "cause"),
    [
        (said("a", SAID, None), None, "reading"),
        (said("a", "7 and more 7", None, finish="length"), None, "cutting"),
        (said("a", "It is 8.", "8"), said("a", BOXED, "7"), "grammar"),
        (said("a", "It is 8.", "8"), said("a", "It is 8.", "8"), "model"),
        (said("a", "It is 8.", "8"), None, "model"),
    ],
)
def test_each_loss_has_its_cause(failed: ReadReply, free: ReadReply | None, cause: str) -> None:
    assert reading.cause_of(failed, "7", free) == cause


def arms() -> dict[str, dict[str, ReadReply]]:
    """One lost by reading, one won, one that both have, and one that was not asked everywhere."""
    right, wrong = said("", BOXED, "7"), said("", "It is 8.", "8", tokens=20)
    unread = said("", SAID, None)
    plain = {"lost": right, "won": wrong, "both": right, "later": right}
    cot = {"lost": unread, "won": right, "both": right}
    free = {"lost": unread, "won": wrong, "both": right}
    return {PLAIN: plain, COT: cot, FREE: free}


def found() -> dict[str, Any]:
    return reading.figures(arms(), dict.fromkeys(("lost", "won", "both", "later"), "7"))


def test_pairs_are_those_that_both_were_asked() -> None:
    figures = found()
    assert (figures["pairs"], figures["lost"], figures["won"]) == (3, 1, 1)
    low, high = figures["interval"]
    assert low < figures["difference"] == 0 < high
    assert [(each["id"], each["only"], each["cause"]) for each in figures["odd"]] == [
        ("lost", PLAIN, "reading"),
        ("won", COT, "model"),
    ]
    assert figures["ways"][COT]["no_answer"] == 1


def test_what_no_grader_can_tell_is_no_loss_and_is_counted() -> None:
    """A reply that nobody could grade counted as wrong, and so as lost by the other way."""
    unsure = said("", "It is \\boxed{\\alpha + 1}.", "\\alpha + 1")
    assert unsure.right is None
    assert said("", SAID, None).right is False
    figures = reading.figures(
        {PLAIN: {"a": said("", BOXED, "7"), "b": unsure}, COT: {"a": unsure, "b": unsure}},
        {"a": "7", "b": "7"},
    )
    assert (figures["pairs"], figures["left_out"], figures["odd"]) == (0, 2, [])
    assert figures["ways"][PLAIN] | {"right": 1, "undecided": 1} == figures["ways"][PLAIN]
    assert "Of 0 pairs (2 more are undecided) 0 were right" in reading.markdown(figures)


def test_the_grammar_is_held_against_the_same_problems_without_it() -> None:
    assert found()["grammar"] == {"problems": 3, "with": 30, "without": 40, "times": 0.75}
    without = {name: arm for name, arm in arms().items() if name != FREE}
    assert reading.figures(without, dict.fromkeys(arms()[PLAIN], "7"))["grammar"] is None


def test_the_page_names_every_problem_that_only_one_way_solved() -> None:
    text = reading.markdown(found())
    assert "Of 3 pairs 1 were right by plain chat only, 1 by cot only" in text
    assert "0.750 times (within 1.05)" in text
    assert "| lost | plain chat | reading | 7 | 7 | none |" in text


def test_the_page_is_a_table_the_pairs_the_grammar_and_what_only_one_way_solved() -> None:
    long, barred = "so it is said " * 5, "7 | or\n 8"
    plain = {
        "lost": reading.plain_said("lost", BOXED, "stop", "7", (1_000, 200)),
        "won": said("won", "8", "8"),
        "cut": said("cut", long, None, finish="length"),
    }
    cot = {
        "lost": ReadReply(
            id="lost", text="9", finish="stop", answer=barred, right=False, completion_tokens=10
        ),
        "won": said("won", BOXED, "7"),
        "cut": said("cut", "7", "7"),
    }
    made = reading.figures({PLAIN: plain, COT: cot}, {"lost": "7", "won": "7", "cut": "7"})
    assert reading.markdown(made).splitlines() == [
        "| way | n | right | undecided | no answer | cut | prompt tokens | completion tokens |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        "| plain chat | 3 | 1 | 0 | 1 | 1 | – | 220 |",
        "| cot | 3 | 2 | 0 | 0 | 0 | – | 30 |",
        "",
        "Of 3 pairs 1 were right by plain chat only, 2 by cot only: cot - plain 33.3 %, "
        f"95 % {100 * made['interval'][0]:.1f} % to {100 * made['interval'][1]:.1f} %.",
        "",
        "| problem | only | cause | reference | plain chat | cot |",
        "|---|---:|---:|---:|---:|---:|",
        "| lost | plain chat | model | 7 | 7 | 7 / or 8 |",
        "| won | cot | model | 7 | 8 | 7 |",
        "| cut | cot | cutting | 7 | none | 7 |",
    ]


@pytest.mark.parametrize(
    ("held", "loose", "words"),
    [
        (105, 100, "105 completion tokens with it, 100 without, 1.050 times (within 1.05)."),
        (106, 100, "106 completion tokens with it, 100 without, 1.060 times (NOT within 1.05)."),
        (10, 0, "10 completion tokens with it, 0 without, – times (NOT within 1.05)."),
        (None, 100, "– completion tokens with it, 100 without, – times (NOT within 1.05)."),
    ],
)
def test_a_grammar_may_take_a_twentieth_more(
    held: int | None, loose: int | None, words: str
) -> None:
    def way(tokens: int | None) -> dict[str, ReadReply]:
        return {
            "a": ReadReply(
                id="a", text="7", finish="stop", answer="7", right=True, completion_tokens=tokens
            )
        }

    made = reading.figures({PLAIN: way(1), COT: way(held), FREE: way(loose)}, {"a": "7"})
    assert f"The grammar: {words}" in reading.markdown(made)


@pytest.mark.parametrize(("length", "shown"), [(40, "x" * 40), (41, "x" * 39 + "…")])
def test_a_whole_reply_would_end_the_table(length: int, shown: str) -> None:
    plain, cot = {"a": said("a", BOXED, "7")}, {"a": said("a", "x", "x" * length)}
    told = reading.markdown(reading.figures({PLAIN: plain, COT: cot}, {"a": "7"})).splitlines()
    assert told[-1] == f"| a | plain chat | model | 7 | 7 | {shown} |"


def test_a_chain_of_thought_is_what_its_one_reply_said() -> None:
    reply = Completed(
        asked="complete thinker x", text="so 7", finish="length", model="m", prompt_tokens=5,
        completion_tokens=9,
    )  # fmt: skip
    one = case("a", "right", [reply], reference="7", answer="7")
    whole = reading.cot_said(one)
    assert whole == ReadReply(
        id="a", text="so 7", finish="length", answer="7", right=True, prompt_tokens=5,
        completion_tokens=9,
    )  # fmt: skip
    assert reading.cot_said(case("a", "wrong", [reply], reference="8", answer="7")).right is False
    assert reading.cot_said(case("a", "unknown", [reply], answer="7")).right is None
    with pytest.raises(ValueError, match="unpack"):
        reading.cot_said(case("a", "right", [reply, reply], answer="7"))


def test_what_is_solved_without_the_grammar_was_lost_by_it() -> None:
    right, wrong = {"a": said("a", BOXED, "7")}, {"a": said("a", "It is 8.", "8")}
    made = reading.figures({PLAIN: right, COT: wrong, FREE: right}, {"a": "7"})
    assert [(each["only"], each["cause"]) for each in made["odd"]] == [(PLAIN, "grammar")]


def test_what_only_cot_solved_was_not_lost_by_a_grammar() -> None:
    """The plain call has none: what a run without one says of the problem tells nothing of it."""
    plain, cot = {"a": said("a", "It is 8.", "8")}, {"a": said("a", BOXED, "7")}
    made = reading.figures({PLAIN: plain, COT: cot, FREE: cot}, {"a": "7"})
    assert [(each["only"], each["cause"]) for each in made["odd"]] == [(COT, "model")]


def test_nothing_asked_yet_is_no_figure() -> None:
    figures = reading.figures({PLAIN: {}, COT: {}, FREE: {}}, {})
    assert (figures["pairs"], figures["difference"], figures["interval"]) == (0, None, None)
    assert "95 % – to –" in reading.markdown(figures)


def test_a_grammar_is_left_out_only_where_there_is_one() -> None:
    spelled = ways(None, "m")
    assert list(spelled) == [PLAIN, COT, FREE]
    assert spelled[PLAIN] == spelled[COT]
    assert spelled[FREE] == f"{spelled[COT]}&constrained=false"
    assert ways("openvino:m", "m")[FREE] == "openvino:m?constrained=false"
    assert list(ways("openai:m", "m")) == [PLAIN, COT]


def test_a_reading_goes_on_where_it_was_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        {"question": f"Mia has {at} apples and buys 3 more. How many?", "answer": f"#### {at + 3}"}
        for at in range(4)
    ]
    text = "".join(json.dumps(each) + "\n" for each in lines)
    (tmp_path / "own.jsonl").write_text(text, encoding="utf-8")

    def ask(minutes: str, problems: str) -> dict[str, Any]:
        wanted = ["--data", "own.jsonl", "--reading", "--backbone", QUICK, "--out", "kept"]
        code = main(
            ["bench", "local", *wanted, "--minutes", minutes, "--limit", problems, "--json"]
        )
        assert code == 0
        told: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
        return told

    assert ask("0", "4")["missing"] == 8
    assert ask("5", "2")["missing"] == 0
    chats = tmp_path / "kept" / CHATS
    chats.write_bytes(chats.read_bytes() + b'{"id": "broken')
    first, *_ = filter(None, chats.read_bytes().splitlines())
    told = ask("5", "4")
    assert (told["missing"], told["pairs"]) == (0, 4)
    assert next(filter(None, chats.read_bytes().splitlines())) == first
    assert (tmp_path / "kept" / LOGS[COT]).exists()
    assert told["ways"][PLAIN]["problems"] == told["ways"][COT]["problems"] == 4


def test_a_reading_needs_problems(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "local", "--reading"]) == 2
    assert "--data" in capsys.readouterr().err
