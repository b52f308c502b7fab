"""What a model of 1.5 billion parameters said to our prompts: read as it was, or refused for what it left out.

Qwen2.5-Coder-1.5B-Instruct, free text of at most 512 tokens: two problems of GSM8K by five systems and a plain chain.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from handlers.answers.extract import extract
from handlers.roles.again import Meter
from handlers.roles.atomic import ACTIONS as ATOMIC
from handlers.roles.confidence import read_confidence
from handlers.roles.consolidator import CONSOLIDATORS
from handlers.roles.distiller import DISTILLERS
from handlers.roles.form import Unreadable
from handlers.roles.grounder import GROUNDER, path_said
from handlers.roles.monitor import report_of
from handlers.roles.oracle import Reading, read_scores
from handlers.roles.reasoner import REASONER
from handlers.roles.repairer import REPAIRER
from handlers.roles.role import Role, RoleReply
from handlers.roles.step import STEP, made_of
from handlers.roles.thinker import THINKERS, Thought, think
from schemas.questions import Completion
from tests.handlers.roles.every import roles
from tests.handlers.roles.test_strong_replies import LABELLED, SINCE, thought_of, wrong

REPLIES = Path(__file__).with_name("qwen_replies.jsonl.gz")
FIVE = Path(__file__).with_name("qwen_five_systems.jsonl.gz")
"""What it said to the prompts that came of those replies, by five systems on the first problems of GSM8K."""
OWN = Path(__file__).with_name("qwen_mc2_roles.jsonl.gz")
"""What it said to roles of MC² by themselves: worked solutions of GSM8K, right ones and ones with a wrong number."""
ACTIONS = {"do": 1, "avoid": 3}
SYSTEMS = {"mc2", "mgv_flavell", "graph_memory", "cot2_meta", "meta_reasoner"}
SHORT: dict[str, int] = {}
"""Replies by role that are not read at first asking."""
BEFORE = {"oracle": 4}
"""Of the oracle before its prompt said what a step is: it scored the numbered lines inside the one there was."""
LEFT_OUT = Counter[tuple[str, str]]()
"""Fields that the model did not write at all, and that nothing can do without."""


def kept(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def replies() -> list[dict[str, Any]]:
    return kept(REPLIES)


def test_what_five_systems_ask_is_read_at_first_asking() -> None:
    """No call is made: the replies are the record's. Shares of each role are printed."""
    asked, read, before = Counter[str](), Counter[str](), Counter[str]()
    for reply in kept(FIVE):
        wanting = problem_of(reply) is not None
        if reply["first"] and reply["now"]:
            asked[reply["role"]] += 1
            read[reply["role"]] += not wanting
        elif reply["first"]:
            before[reply["role"]] += wanting
    for role, count in sorted(asked.items()):
        print(f"{role}: {read[role]} of {count} read at first asking")
    assert {
        role: count - read[role] for role, count in asked.items() if read[role] < count
    } == SHORT
    assert before == BEFORE
    assert {reply["policy"] for reply in kept(FIVE)} >= SYSTEMS


def test_what_roles_of_mc2_say_is_read_at_first_asking() -> None:
    """Shares of each prompt are printed, with the number that the paper's form would have read."""
    asked, read, strictly = Counter[str](), Counter[str](), Counter[str]()
    for reply in kept(OWN):
        name = reply["template"]
        asked[name] += 1
        read[name] += problem_of(reply) is None
        distiller = DISTILLERS.get(name.rpartition(".")[2])
        if distiller is not None and name.startswith("distiller"):
            values = distiller.role.read(reply["text"], distiller.check(ACTIONS[reply["case"]]))
            strictly[name] += not isinstance(values, Unreadable)
    for name, count in sorted(asked.items()):
        form = f", {strictly[name]} in the paper's form" if name in strictly else ""
        print(f"{name}: {read[name]} of {count} read at first asking{form}")
    assert read == asked
    assert sum(asked.values()) == 40
    assert sum(strictly.values()) < sum(read.values()) - asked["monitor"], "it was refused for less"


def test_a_monitor_says_what_it_saw_before_its_verdict() -> None:
    """While the form began with the finding, it was filled in without a word before it."""
    before, now = (
        [
            report_of(reply["text"]).explanation
            for reply in kept(path)
            if "Error_found" in reply["labels"] and reply["role"] == "monitor"
        ]
        for path in (FIVE, OWN)
    )
    assert not any(before)
    assert all(len(said) > 60 for said in now)


def test_a_boxed_answer_of_the_first_asking_is_the_answer_that_is_read() -> None:
    """No right first answer is lost by reading."""
    found = 0
    for reply in kept(FIVE):
        boxes = each_box(reply["text"])
        if reply["role"] == "reasoner" and reply["first"] and reply["finish"] == "stop" and boxes:
            assert role_of(reply).read(reply["text"]) == {"Final_answer": boxes[-1]}
            found += 1
    assert found >= 10


@cache
def known() -> dict[frozenset[str], Role]:
    """Roles by their fields; of two with the same ones that which serves."""
    found = {labels - SINCE: role for labels, role in LABELLED.items()}
    for role in roles():
        found.setdefault(frozenset(field.label for field in role.reply.fields) - SINCE, role)
    return found


def role_of(reply: dict[str, Any]) -> Role:
    return known()[frozenset(reply["labels"]) - SINCE]


def problem_of(reply: dict[str, Any]) -> str | None:
    """Why a reply is not read as its policy reads it; one that was cut off never is."""
    if reply["finish"] == "length":
        return "cut"
    if reply["role"] == "oracle":
        return None if read_scores(reply["text"], 1, reply["steps"]).whole else "other steps"
    return wrong(role_of(reply), reply["text"])


def test_whole_replies_are_read_unless_they_leave_a_field_out(
    replies: list[dict[str, Any]],
) -> None:
    whole = [reply for reply in replies if reply["finish"] == "stop"]
    found = Counter(
        (reply["role"], problem)
        for reply in whole
        if (problem := wrong(role_of(reply), reply["text"])) is not None
    )
    assert len(whole) > 95
    assert found == LEFT_OUT


def test_one_rule_is_a_rule_without_its_example(replies: list[dict[str, Any]]) -> None:
    """The model wrote one rule of six, with the numbers of its case in brackets; all of it was refused."""
    [said, *_] = [reply["text"] for reply in replies if reply["role"] == "consolidator"]
    keeper = CONSOLIDATORS["monitor"]
    values = keeper.role.read(said, keeper.check())
    assert not isinstance(values, Unreadable)
    assert keeper.rules(values) == (("M1", "Always present the answer in the required format."),)


def test_a_copied_explanation_is_no_value(replies: list[dict[str, Any]]) -> None:
    """The model said 1.0 and went on with our own "in [0, 1]", which was read as 0."""
    said = [reply["text"] for reply in replies if reply["role"] == "confidence"]
    stated = [Fraction(text.partition("Confidence: ")[2].split()[0]) for text in said]
    assert [read_confidence(text) for text in said] == stated
    assert max(stated) == 1


def test_a_step_about_the_answer_is_not_the_answer(replies: list[dict[str, Any]]) -> None:
    """A step is headed "Express the final answer:", goes on about its form, and the box comes after it."""
    said = [each["text"] for each in replies if "Express the final answer:" in each["text"]]
    boxed = [text for text in said if each_box(text)]
    assert boxed
    assert [extract(text) for text in boxed] == [each_box(text)[-1] for text in boxed]


def test_a_headed_step_gives_way_to_the_box_below_it_in_a_role_too() -> None:
    """As the model of 1.5 billion parameters said it, at the end of a right solution that was then lost."""
    said = "4. **Final answer:**\n   James runs a total of 540 meters each week.\n\nSo it is \\(\\boxed{540}\\)."
    assert REASONER.read(said) == {"Final_answer": "540"}


def each_box(text: str) -> list[str]:
    return re.findall(r"\\boxed\{([^{}]+)\}", text)


def test_a_thought_that_comes_in_several_blocks_is_read_whole() -> None:
    """The model went through its form line by line; the last block alone was kept, and lost the way to it."""
    said = (
        "Thought: 16 eggs a day.\nState: OPEN\nFinal_answer: None\n\n"
        "Thought: After eating 3 eggs, she has 16 - 3 = 13.\nState: OPEN\n"
        "Thought: 9 eggs * $2 = $18\nState: ANSWERED\nFinal_answer: \\boxed{18}"
    )
    role = THINKERS["direct"]
    question = role.question({"problem": "p", "trajectory": "[Step 1]\n16 eggs a day."})
    steps = think(question, role, Meter())
    next(steps)
    with pytest.raises(StopIteration) as ended:
        steps.send(Completion("1", said, "stop", "m"))
    thought: Thought = ended.value.value
    assert thought.answer == "18"
    assert thought.text.split("\n") == [
        "After eating 3 eggs, she has 16 - 3 = 13.",
        "9 eggs * $2 = $18",
        "Final answer: 18",
    ]


@pytest.mark.parametrize(
    ("ends", "answer"),
    [
        ("State: OPEN\n\nFinal_answer: 366", "366"),
        ("State: OPEN\n\nFinal_answer: $18", "$18"),
        ("State: OPEN\nThought: Now add.\nState: OPEN\nFinal_answer: \\boxed{694}", "694"),
        (
            "State: OPEN\nThought: It is double.\nFinal_answer: $160,000\n\nFinal_answer: $30,000",
            "$30,000",
        ),
        ("State: OPEN\nFinal_answer: (not yet)", None),
        ("State: OPEN\nFinal_answer: N/A", None),
        ("State: OPEN\nFinal_answer: none yet, x is 3 so far", None),
        ("State: OPEN", None),
    ],
)
def test_an_answer_below_the_word_open_is_one(ends: str, answer: str | None) -> None:
    """Worked out to its end and called OPEN: right first answers of five problems in twelve went that way."""
    said = f"Thought: 60 + 180 + 126 is all.\n\n{ends}"
    for role, to_the_end in ((THINKERS["direct"], True), (ATOMIC["step"], False)):
        thought = thought_of(role, said, to_the_end=to_the_end)
        assert thought.readable
        assert thought.answer == (answer if to_the_end else None), "one step's result is no answer"


def test_an_answer_below_a_thought_that_was_copied_is_read() -> None:
    """Asked to begin with Thought, the model wrote down our own words behind it, and then the right answer."""
    role = REPAIRER
    copied = "Write that step and all that has to follow it anew, as one thought, and go as far as you can."
    found: list[tuple[str, str | None, bool]] = []
    for ends in ("State: OPEN\n\nFinal_answer: \\boxed{64}", "State: OPEN", ""):
        thought = thought_of(role, f"Thought: {copied}\n\n{ends}", fault="Step 1")
        found.append(
            (thought.text.removeprefix(f"Thought: {copied}"), thought.answer, thought.readable)
        )
    assert found == [
        ("Final answer: 64", "64", True),
        ("\n\nState: OPEN", None, False),
        ("", None, False),
    ]


def test_what_a_reply_says_in_four_words_of_ours_it_says_itself() -> None:
    """The model said that the problem was solved, gave its answer, and was asked again: our prompt has these words."""
    said = "Reasoning: All is added up.\n\nNext_step: The problem is solved.\n\nState: SOLVED\n\nFinal_answer: 260"
    values = STEP.read(said)
    assert not isinstance(values, Unreadable)
    assert (values["Next_step"], values["Final_answer"]) == ("The problem is solved.", "260")


SCORED = "Semantic=0.5, Logical=0.5, Fix=0.0"
RATED = {"Semantic": 0.5, "Logical": 0.5, "Fix": 0.0}
HALF = (Fraction(1, 2), Fraction(1, 2), Fraction(0))


@pytest.mark.parametrize(
    "said",
    [
        f"### Step 1: Determine the white fiber.\nIt is 1.\n\n### Scores:\n- Step 1: {SCORED}\n- Step 2: {SCORED}\n\n"
        "### Reasoning:\n1. **Step 1**: It is stated. The semantic score is 0.5.\n2. **Step 2**: Similarly.",
        "Step 1: The white fiber.\nSemantic: 0.5\nLogical: 0.5\nFix: 0.0\n\nStep 2: The total.\n- **Semantic:** 0.5\n"
        "- **Logical:** 0.5\n- **Fix:** 0.0",
    ],
)
def test_scores_are_told_from_what_is_said_of_them(said: str) -> None:
    """Reasons below the scores made each step one that is named twice; scores below their step were none."""
    reading = read_scores(said, 1, 2)
    assert (reading.steps, reading.whole) == ((HALF, HALF), True)


def test_scores_that_are_given_twice_count_where_both_times_say_the_same() -> None:
    """The list, then the lines of the question filled in once more: the small model was asked again for that."""
    once = f"- Step 1: {SCORED}\n- Step 2: {SCORED}"
    for below in (
        "Final answer: 15",
        "Justification:\n- **Step 1**: It is stated.\n- **Step 2**: It is repeated.",
    ):
        said = f"Scores:\n{once}\n\nStep 1: {SCORED}\nStep 2: {SCORED}\n\n{below}"
        assert read_scores(said, 1, 2) == Reading((HALF, HALF), True), said
    other = once.replace("Semantic=0.5", "Semantic=0.9", 1)
    assert read_scores(f"{other}\n\n{once}", 1, 2).steps == ((None, None, None), HALF)


def test_words_beside_the_names_are_no_second_score() -> None:
    """Below the list the small model said once more, without a figure, what it thought of each step."""
    for below in (
        "Step 1: Semantic: The problem statement is clear and unambiguous.\n- Logical: The logical reasoning "
        "is sound.\n- Fix: The fix is needed to clarify the relationship between the cities.",
        "Step 1: Semantic: The problem statement is clear and concise.\nStep 1: Logical: The reasoning is sound, but "
        "the problem could be more detailed.\nStep 1: Fix: The problem statement is correct.",
        "Step 1: Semantic=?, Logical=?, Fix=?",
    ):
        said = f"Scores:\n- Step 1: {SCORED}\n\n{below}"
        assert read_scores(said, 1, 1) == Reading((HALF,), True), said
        assert not read_scores(below, 1, 1).whole, (
            "of a step that is given words alone nothing is known"
        )
    partly = SCORED.replace("Semantic=0.5", "Semantic=high")
    assert not read_scores(f"Step 1: {SCORED}\nStep 1: {partly}", 1, 1).whole


def test_the_word_scores_may_stand_before_its_step_on_one_line() -> None:
    for said in (f"**Score:** Step 1: {SCORED}", f"Scores: **Step 1**: {SCORED}"):
        assert read_scores(f"It is stated.\n\n{said}\nScore: Step 2: {SCORED}", 1, 2) == Reading(
            (HALF, HALF), True
        ), said


@pytest.mark.parametrize("first", ["1", "Step 1", "**[Step 1]**"])
def test_scores_may_stand_in_a_table(first: str) -> None:
    head = "| Step | Semantic | Logical | **Fix** |\n|---|:-:|---|---|"
    table = f"{head}\n| {first} | 0.5 | 50% | N/A |\n| 2 | 0.5 | 0.5 | 0.0 |"
    for said in (
        table,
        f"Both hold.\n\nScores:\n{table}",
        f"**Scores:**\n\n{table}\n\nStep 2 repeats.",
    ):
        assert read_scores(said, 1, 2) == Reading((HALF, HALF), True), said
    assert not read_scores(table.replace("0.5", "fine"), 1, 2).whole


def test_scores_of_a_single_step_need_not_name_it() -> None:
    said = "Semantic: 0.5\nLogical: 0.5\nFix: 0.0"
    for whole in (said, f"It fits.\n\n{said}", f"Semantic: it fits well.\n\nStep 3: {SCORED}"):
        assert read_scores(whole, 3, 3) == Reading((HALF,), True)
    assert not read_scores(said, 2, 3).whole
    assert read_scores(f"{said}\n{said}", 3, 3) == Reading((HALF,), True)
    assert not read_scores(f"{said}\nSemantic: 0.6", 3, 3).whole
    assert not read_scores(f"{said}\nStep 4: {SCORED}", 3, 3).whole


@pytest.mark.parametrize(
    "said", ["GS, SP, KS, AN", "GS\nSP\nKS\nAN", "`GS → SP → KS → AN`.", "Path: GS SP KS AN"]
)
def test_a_path_needs_no_label_where_a_reply_is_nothing_else(said: str) -> None:
    values = GROUNDER.read(said)
    assert not isinstance(values, Unreadable)
    assert path_said(values) == ("GS", "SP", "KS", "AN")
    assert isinstance(GROUNDER.read("The agent has answered. GS AN"), Unreadable)


def test_steps_that_were_scored_before_may_be_scored_once_more() -> None:
    """Asked for the last two of three steps, the small model scored the whole trajectory."""
    said = "\n".join(f"Step {step}: {SCORED}" for step in (1, 2, 3))
    assert read_scores(said, 2, 3) == Reading((HALF, HALF), True)
    assert read_scores(f"Step 1: {SCORED}\n{said}", 2, 3) == Reading((HALF, HALF), True)
    assert not read_scores(said, 1, 2).whole, "of a step behind the last there is none"
    assert not read_scores(f"{said}\nStep 3: {SCORED.replace('0.0', '0.5')}", 2, 3).whole


@pytest.mark.parametrize(
    "form",
    [
        "Error_description: None\nError_step: None\nError_found: None",
        "Error_description: \n- There are no unreliable steps in the solution.\n\n"
        "Error_step: \n- NONE\n\nError_found: \n- NONE",
    ],
)
def test_a_monitor_that_writes_none_on_all_three_lines_found_no_error(form: str) -> None:
    """Twice of 25 first askings, and again when asked once more: the report was taken for unreadable."""
    said = f"Analysis: 1. **Calculate the total cost of the house:** Correct.\n\n{form}"
    assert report_of(said).flag == "NO"


@pytest.mark.parametrize(
    ("said", "trust"),
    [
        ("It leads to the correct answer. Therefore, the confidence in the trajectory is 1.", 1),
        ("It is only begun, so I trust the trajectory to be 0.5.", 0.5),
        ("Therefore, the trajectory is fully trusted, with a confidence level of 1.", 1),
        ("The trajectory is not finished. The confidence is 0.0.", 0),
        ("**Confidence score:** 85%", Fraction(17, 20)),
        ("### Conclusion\nIt is not finished.\n\n### Trust\n0.8", Fraction(4, 5)),
        ("**Trust:** 0.8", Fraction(4, 5)),
        ("Trust in the trajectory grows with each step; step 3 is right.", None),
        ("It follows the problem statement. The final answer is \\boxed{180}.", None),
        ("I have confidence in the trajectory; is it the 3 of before?", None),
    ],
)
def test_a_confidence_that_a_sentence_states_is_read(said: str, trust: Fraction | None) -> None:
    assert read_confidence(said) == trust


@pytest.mark.parametrize(
    "scores",
    [
        {"Scores": {"Step 1": RATED, "Step 2": RATED}},
        {"Scores": {"1": [0.5, "50%", 0.0], "2": [0.5, 0.5, 0.0]}},
        {"Step 1": RATED, "Step 2": RATED},
        {"Scores": {"Step 1": SCORED, "Step 2": SCORED}},
        {"Scores": [RATED, RATED]},
        {"Scores": [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]},
        {"Scores": [{"Step": 1, **RATED}, {"Step": 2, **RATED}]},
        {"Scores": [f"Step 1: {SCORED}", f"Step 2: {SCORED}"]},
    ],
)
def test_scores_may_be_an_object_of_steps(scores: dict[str, object]) -> None:
    """JSON that nobody asked for, as models give it where they are to say several things of several steps."""
    alone = json.dumps({"Finding": "Both hold.", **scores})
    for said in (alone, f"```json\n{alone}\n```"):
        reading = read_scores(said, 1, 2)
        assert (reading.steps, reading.whole) == ((HALF, HALF), True), said
        assert "Both hold." in reading.reasons
        assert "{" not in reading.reasons
    assert not read_scores(alone, 1, 3).whole
    assert not read_scores(alone.replace("0.5", "fine"), 1, 2).whole


def test_an_item_that_names_its_step_is_of_that_step() -> None:
    other = {**RATED, "Semantic": 0.9}
    said = json.dumps({"Scores": [{"Step": 1, **other}, {"Step": 2, **RATED}]})
    assert read_scores(said, 2, 2) == Reading((HALF,), True)


FREE = "### Step 1: Pairs\n\\[ 2 \\times 3 = 6 \\]\n\n### Step 2: Cost\n\\[ 6 \\times 60 = 360 \\]"


@pytest.mark.parametrize(
    ("ends", "answer"),
    [
        ("Final_answer: \\boxed{360}", "360"),
        ("**Final_answer:** \\(\\boxed{360}\\)", "360"),
        ("Final_answer: none", None),
        ("Final_answer: \\boxed{none}", None),
        ("Final_answer: None of the above", "None of the above"),
        ("Final_answer: open", "open"),
        ("Final_answer: Not yet known", None),
        ("Final_answer: None yet; the tax is still to be added.", None),
    ],
)
def test_a_free_thought_and_a_free_step_are_all_that_stands_above_their_answer(
    ends: str, answer: str | None
) -> None:
    """As the small model writes them since it is asked for no label but the last."""
    thought = thought_of(THINKERS["direct"], f"{FREE}\n\n{ends}")
    assert thought.readable
    assert thought.text == (FREE if answer is None else f"{FREE}\nFinal answer: {answer}")
    assert thought.answer == answer
    said = Completion("1", f"{FREE}\n\n{ends}", "stop", "m")
    values = STEP.hear(said)
    assert not isinstance(values, Unreadable)
    made = made_of(RoleReply(values, (said,), "ok", answer=str(values["Final_answer"])))
    assert (made.text, made.answer) == (FREE, answer)


def test_a_thought_that_is_boxed_without_its_label_is_read() -> None:
    said = f"{FREE}\n\nTherefore, the total amount John paid is \\(\\boxed{{360}}\\)."
    thought = thought_of(THINKERS["decompose"], said)
    assert (thought.readable, thought.answer) == (True, "360")
    assert thought.text == f"{said}\nFinal answer: 360"


def test_a_line_of_a_free_thought_may_begin_with_a_word_that_was_a_label() -> None:
    worked = "State: Ohio levies 5 % on 40.\nState: Iowa levies 10 % on 20.\nThey levy the same, 2."
    thought = thought_of(THINKERS["direct"], f"{worked}\nFinal_answer: 2")
    assert (thought.text, thought.answer) == (f"{worked}\nFinal answer: 2", "2")
    assert STEP.read(f"{worked}\nFinal_answer: 2") == {"Final_answer": "2"}


def test_a_thought_that_was_cut_is_open_whatever_stands_in_it() -> None:
    said = f"{FREE}\nFinal_answer: \\boxed{{360}}"
    for role in THINKERS.values():
        thought = thought_of(role, said, finish="length")
        assert (thought.readable, thought.answer) == (False, None)
    thought = thought_of(REPAIRER, said, finish="length", fault="Step 1")
    assert (thought.readable, thought.answer) == (False, None)
