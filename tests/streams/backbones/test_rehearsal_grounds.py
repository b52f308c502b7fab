"""Kinds of problems: what works really solves them, and any text is taken."""

from __future__ import annotations

import json
import re

import pytest
from msgspec import structs

from handlers.answers.extract import extract
from handlers.roles.form import Unreadable, parse
from handlers.roles.monitor import MONITOR
from handlers.roles.reasoner import REASONER
from schemas.prompt import Section, Template
from schemas.reply import Field, Reply
from streams.answering.backbones.rehearsal.backbone import GROUNDS, hidden
from streams.answering.backbones.rehearsal.grounds import Ground, usually
from streams.answering.backbones.rehearsal.hints import Hint, hints
from streams.answering.backbones.rehearsal.passages import PASSAGES
from streams.answering.backbones.rehearsal.puzzles import PUZZLES
from streams.answering.backbones.rehearsal.stories import STORIES, story
from tests.data import shared
from tests.streams.backbones.prompting import FAULTLESS, SOLVE, boxed, reply, request

FACTS = [
    ("Goethe wrote Faust in 1808. Mann wrote Buddenbrooks.\n\nWho wrote Faust?", "Goethe"),
    ("Lyon lies on the Rhône. Ulm lies on the Danube.\n\nWhich city lies on the Rhône?", "Lyon"),
]


@pytest.mark.parametrize("ground", GROUNDS, ids=lambda ground: ground.name)
def test_a_ground_can_be_learned_about(ground: Ground) -> None:
    phrases = (*ground.approaches, *ground.situations, *ground.checks)
    assert len(ground.approaches) == len(ground.situations) == 6
    assert len(set(phrases)) == len(phrases)
    assert not re.search(r"\d", " ".join(phrases))
    assert all(len(approach.split()) <= 4 for approach in ground.approaches)
    assert ground.reads(ground.example) is not None
    assert len({usually(seed, ground.name, 0, 6) for seed in range(20)}) > 5


@pytest.mark.parametrize("ground", GROUNDS, ids=lambda ground: ground.name)
def test_hints_come_back_from_the_words_they_were_said_in(ground: Ground) -> None:
    for approach in range(6):
        for situation in (None, *range(6)):
            for good in (True, False):
                hint = Hint(approach, situation, good)
                for topic in ("solving", "checking", "deciding"):
                    assert hints(f"- {hint.says(ground, topic)}", ground) == (hint,)


def test_problems_are_told_apart() -> None:
    def kind(text: str) -> Ground:
        return hidden(7, text).ground

    assert kind("4 5 6 10") is kind("Make 24 from 4, 5, 6 and 10.") is PUZZLES
    assert kind("A box has 4 rows of 5 eggs, 6 cracked and 10 sold. How many are left?") is STORIES
    assert kind(FACTS[0][0]) is kind("") is kind("Prove it.") is PASSAGES


def test_known_word_problems_are_really_solved() -> None:
    solved = 0
    for index in range(200):
        problem, answer = story(1, index)
        latent = hidden(FAULTLESS.seed, problem)
        assert latent.ground.right(latent.problem, answer)
        note = Hint(min(latent.works, default=0), None, True).says(STORIES, "solving")
        said = boxed(reply(request(SOLVE, problem=problem, guidance=note)).text)
        solved += said == answer
    assert solved > 130


@pytest.mark.parametrize(("problem", "answer"), FACTS)
def test_facts_are_found_in_the_paragraphs(problem: str, answer: str) -> None:
    assert PASSAGES.work(problem, True, 0.0).answer == answer
    assert PASSAGES.right(problem, answer)
    wrong = PASSAGES.work(problem, False, 0.0).answer
    assert wrong != answer
    assert not PASSAGES.right(problem, wrong)


def test_an_answer_is_copied_from_what_a_tool_returned() -> None:
    ask = Template(
        "ask",
        "Ask the tool, then answer.",
        (Section("Question", "question"), Section("Results", "results")),
        Reply((Field("Query", "text", "what to search for"), Field("Answer", "answer", "it"))),
    )
    asked = request(ask, question="Who wrote Faust?", results="Goethe wrote Faust. Mann did not.")
    said = [reply(structs.replace(asked, draw=draw)).text for draw in range(40)]
    assert all("Query: wrote Faust\n" in text for text in said)
    answers = [boxed(text) for text in said]
    assert {"Goethe", "Mann"} & set(answers)


# ── Other people's texts ─────────────────────────────────────────────────────────────────────


def test_any_real_word_problem_gets_reasoning_and_a_number() -> None:
    lines = (shared() / "gsm8k" / "test_dev.jsonl").read_text(encoding="utf-8").splitlines()
    for line in lines[::5]:
        problem = json.loads(line)["question"]
        said = reply(request(SOLVE, problem=problem)).text
        assert re.search(r"^Step 2: ", said, re.MULTILINE), said
        assert boxed(said)


def test_parsers_take_what_a_real_model_wrote() -> None:
    """Recorded GPT-4 texts: answers are found where there are any, and nothing raises."""
    file = next((shared() / "game24" / "logs").glob("*naive_cot_sample*.json"))
    texts = [text for entry in json.loads(file.read_bytes()) for text in entry["ys"][::10]]
    found = 0
    for text in texts:
        values = parse(text, REASONER.reply)
        found += not isinstance(values, Unreadable)
        assert isinstance(values, Unreadable) or values["Final_answer"] == extract(text)
        assert isinstance(MONITOR.read(text), Unreadable)
    assert found / len(texts) > 0.8
