"""Every setting of every policy is flipped in an episode, and in a series where one episode shows no difference.

The episodes are generated from the types of the settings: what changes nothing of what is asked, said or stated is
named here with its reason, and nothing else may be without effect.
"""

from __future__ import annotations

import ast
import json
import types
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import pytest
from msgspec import structs

from handlers.policies.base import Policy, Task
from handlers.policies.registry import POLICIES
from schemas.asking import OutOfLimit
from schemas.events.codec import encode
from schemas.problem import Limits
from schemas.questions import Complete
from schemas.settings import BACKBONE, BadSetting, PolicySettings
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.engine.prompts.catalogue import of_policy
from streams.runtime.embedded.log import SqliteLog
from tests.architecture.pages import ROOT
from tests.crash.series import Counted, Remembering, produced, quick, worked
from tests.scripted import run

PROBLEMS = ("4 5 6 10", "1 1 4 6")
SERIES, CALLS = "game24:901-908", 24
SERIES_FLIPS = 3
"""A series takes as long as twenty episodes: no more values of a setting are tried in one."""
CLEAR, GARBLED = Rehearsal(Options(seed=7)), Rehearsal(Options(seed=7, malformed=0.4))

HANGS_ON: Mapping[str, tuple[dict[str, Any], ...]] = {
    "cot2_meta": (
        {"prune_threshold": 0.8, "abstain_threshold": 0.8},
        {"strategies": ("direct", "verify"), "exploration": 0.0, "stop_threshold": 1.0},
        {"tree": False},
        {"health_threshold": 0.9, "stop_threshold": 1.0},
        {"strategies": ("direct", "verify"), "own_confidence": True, "stop_threshold": 1.0},
    ),
    "meta_reasoner": (
        {"choice": "direct"},
        {"retire_after": 1, "retire_below": 0.9, "merge_above": 1.0},
        {"step_cost": 2.0},
    ),
    "mgv_flavell": (
        {"assess": "verbal", "min_labels": 1, "min_cases": 1},
        {
            "min_labels": 1,
            "min_cases": 1,
            "complex_above": 0.0,
            "retire_trials": 1,
            "retire_below": 1.0,
        },
    ),
    "mgv_retrieval": (
        {"min_labels": 1, "min_cases": 1, "first_look": "off", "fok_threshold": 1.0},
        {"confidence_threshold": 1.0, "fok_threshold": 0.0, "signal": "feel"},
    ),
    "graph_memory": (
        {"phase": "build", "rollouts": 2},
        {"phase": "build", "rollouts": 1, "grounding": "model"},
        {"phase": "build", "rollouts": 1, "principle_limit": 1},
        {"phase": "weigh"},
    ),
    "cascade": ({"arms": ("check", "guided"), "strong": True, "worth": 100.0},),
}
"""What else has to be set for some settings of a policy to show."""
PAPERS = "tests/papers"
CASCADE = "tests/handlers/policies/cascade"
LATE = f"{PAPERS}/test_late_switches.py"
"""Where no series of eight problems comes to where they count."""
OTHERS = "it is of another of the three policies that share these settings"
QUIET: Mapping[str, Mapping[str, str]] = {
    "mc2": {
        "accept_answer": f"{PAPERS}/test_mc2_switches.py",
        "ask_again": f"{PAPERS}/test_mc2_switches.py",
        "bullets": f"{PAPERS}/test_mc2_guide.py",
        "excerpt_chars": f"{PAPERS}/test_mc2_switches.py",
        "learn_from": f"{PAPERS}/test_mc2_switches.py",
        "new_rules": f"{PAPERS}/test_mc2_rules.py",
        "patch_grade": f"{PAPERS}/test_mc2_teaching.py",
        "teaching": f"{PAPERS}/test_mc2_teaching.py",
        "warm_start": f"{PAPERS}/test_mc2_switches.py",
    },
    "cot2_meta": {
        "audit_leaves": "tests/streams/cli/test_analyse.py",
        "keep_better": f"{PAPERS}/test_cot2_lines.py",
        "overconfidence_cost": "tests/streams/cli/test_analyse.py",
        "shadow_from": f"{PAPERS}/test_cot2_diagnose.py",
        "ties": f"{PAPERS}/test_cot2_scores.py",
    },
    "meta_reasoner": {
        "arms": f"{PAPERS}/test_mr_algorithm.py",
        "retire_after": LATE,
        "retire_below": LATE,
        "retire_on": f"{PAPERS}/test_mr_bandit.py",
    },
    "mgv_flavell": {
        "calibrate_k": f"{PAPERS}/test_mgv_knows.py",
        "min_cases": LATE,
        "repeat_gain": OTHERS,
    },
    "mgv_retrieval": {
        "calibrate_k": f"{PAPERS}/test_mgv_knows.py",
        **dict.fromkeys(("assess", "complex_above", "eol_floor", "monitor_view"), OTHERS),
        **dict.fromkeys(("learn_from", "min_cases", "retire_below", "retire_trials"), OTHERS),
        "intensive_factor": f"{PAPERS}/test_mgv_knows.py",
        "repeat_gain": OTHERS,
        "success": f"{PAPERS}/test_mgv_retrieval.py",
        "unread": f"{PAPERS}/test_mgv_cycles.py",
    },
    "mgv_acquisition": {
        "calibrate_k": f"{PAPERS}/test_mgv_knows.py",
        **dict.fromkeys(("assess", "confidence_threshold", "monitor_view"), OTHERS),
        **dict.fromkeys(("min_cases", "min_labels", "retire_below", "retire_trials"), LATE),
        **dict.fromkeys(("max_retention", "member_calls"), LATE),
        "on_stop": f"{PAPERS}/test_mgv_cycles.py",
        "shares": f"{PAPERS}/test_mgv_acquisition.py",
        "unread": f"{PAPERS}/test_mgv_cycles.py",
    },
    "graph_memory": {
        "base": f"{PAPERS}/test_graph_machine.py",
        "cap": f"{PAPERS}/test_graph_inducer.py",
        "excerpt_chars": f"{PAPERS}/test_graph_says.py",
        "pairs": f"{PAPERS}/test_graph_weigh.py",
        "lone": f"{PAPERS}/test_graph_weigh.py",
        "machine": f"{PAPERS}/test_graph_machine.py",
        "match_above": f"{PAPERS}/test_graph_inducer.py",
        "reward": f"{PAPERS}/test_graph_weigh.py",
        "step_size": f"{PAPERS}/test_graph_weigh.py",
        **dict.fromkeys(("initial_weight", "relevance_floor", "path_cycles"), LATE),
        "principle_limit": f"{PAPERS}/test_graph_inducer.py",
    },
    "cascade": {
        **dict.fromkeys(
            ("excerpt_chars", "lessons", "unlabelled"), f"{CASCADE}/test_cascade_learns.py"
        ),
        "min_cases": f"{CASCADE}/test_cascade.py",
        "warm_start": f"{CASCADE}/test_cascade_warm.py",
    },
    "rest_mcts": {"exploration": LATE},
    "buffer_of_thought": {"threshold": f"{PAPERS}/test_learning_baselines.py"},
}
"""Settings that show nothing here, each with the reason: where an episode by hand shows it, or why none does."""


@dataclass
class Steady(Remembering):
    """The simulator, whose dice hang on nothing but what it is shown: seeds follow scopes, and these settings."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        return await super().complete(structs.replace(request, seed=7))


class SteadyWorld(Counted):
    """A world with this simulator alone."""

    def __init__(self) -> None:
        super().__init__()
        World.__init__(self, {"*": Steady()}, HashedEmbedder())


def kinds_of(annotation: Any) -> Iterator[Any]:
    """The plain types that an annotation allows."""
    if get_origin(annotation) in (Union, types.UnionType):
        for each in get_args(annotation):
            yield from kinds_of(each)
    elif get_origin(annotation) is Annotated:
        yield from kinds_of(get_args(annotation)[0])
    else:
        yield annotation


def plain(annotation: Any) -> Any:
    """The type below what bounds it."""
    return plain(get_args(annotation)[0]) if get_origin(annotation) is Annotated else annotation


def others(annotation: Any, value: Any) -> list[Any]:
    """Values to set instead; those that the setting refuses are left out by whoever tries them."""
    found: list[Any] = []
    for kind in kinds_of(annotation):
        if get_origin(kind) is Literal:
            found += get_args(kind)
        elif get_origin(kind) is tuple and float in map(plain, get_args(kind)):
            found.append(tuple(reversed(cast("tuple[float, ...]", value))))
        elif get_origin(kind) is tuple:
            found += [(each,) for each in get_args(get_args(kind)[0])]
        elif kind is bool:
            found.append(not value)
        elif kind is int:
            more = (
                [value + 1, 4 * value, 1, 0, value // 10] if isinstance(value, int) else [1, 3, 64]
            )
            found += more
        elif kind is float:
            scaled = [value / 2, 3 * value] if isinstance(value, float) else []
            found += [0.0, 1.0, 0.5, *scaled]
        elif kind is type(None):
            found.append(None)
    return [each for each in found if (type(each), each) != (type(value), value)]


def flips(policy: Policy[Any], name: str, under: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The settings ``under`` with one of them flipped, as often as it can be."""
    if name == "parameters":
        yield {**under, name: {"*": {"temperature": 0.123}}}
        return
    if name == "prompts":
        yield from (
            {**under, name: {each: {"closing": "Reply now."}}} for each in of_policy(policy)
        )
        return
    field = policy.settings.model_fields[name]
    for value in others(field.annotation, getattr(policy.resolve("service", under), name)):
        changed = {**under, name: value}
        try:
            policy.resolve("service", changed)
        except BadSetting:
            continue
        yield changed


def alone(policy: Policy[Any], values: Mapping[str, Any], model: Rehearsal) -> list[object]:
    """What two episodes without a memory ask, say and state."""

    def reply(question: Complete) -> str:
        return model.reply(
            ModelRequest(question.messages(), question.sampling, 7, question.draw)
        ).text

    seen: list[object] = []
    settings: PolicySettings = policy.resolve("service", values)
    for number, problem in enumerate(PROBLEMS):
        task = Task(f"n{number}", problem, "game24", 7)
        try:
            ran = run(policy.solve(task, settings), reply, calls=CALLS)
        except OutOfLimit as limit:
            seen.append(limit.which)
        else:
            seen.append((repr(ran.result), [(at, encode(event)) for at, event in ran.events]))
    return seen


def series(policy: Policy[Any], values: Mapping[str, Any], folder: Path) -> list[object]:
    """What a series that is learned from asks, says and states; its scopes' names are left out."""
    path = folder / "log.db"
    path.unlink(missing_ok=True)
    batch = {"batch_size": 2} if "batch_size" in policy.settings.model_fields else {}
    produced(
        path, SERIES, policy=policy.name, values={**batch, **values}, limits=Limits(calls=CALLS)
    )
    with closing(quick(SqliteLog(path))) as log:
        worked(log, world=SteadyWorld())
        said = sorted(
            (record.address, record.event.kind, getattr(record.event, "asked", ""))
            for record in log.records()
        )
        answers = [json.loads(value) for _, _, _, value in log.messages("answers")]
    told = [repr((each["answer"], each["ended_by"], each["confidence"])) for each in answers]
    return [said, sorted(told)]


def unseen(name: str, folder: Path) -> set[str]:
    """The settings of a policy whose flips change nothing, but for those that have a reason."""
    policy = POLICIES[name]
    # Who answers changes nothing of what is asked: tests/streams/door/test_offers.py shows who does.
    left = set(policy.settings.model_fields) - set(QUIET.get(name, {})) - {BACKBONE}
    for under in ({}, *HANGS_ON.get(name, ())):
        for model in (CLEAR, GARBLED):
            usual = alone(policy, under, model)
            for each in sorted(left):
                if any(alone(policy, c, model) != usual for c in flips(policy, each, under)):
                    left.discard(each)
    for under in ({}, *HANGS_ON.get(name, ())) if policy.learns != "none" else ():
        if not left:
            break
        usual = series(policy, under, folder)
        assert series(policy, under, folder) == usual, "else a flip is no reason for a difference"
        for each in sorted(left):
            few = islice(flips(policy, each, under), SERIES_FLIPS)
            if any(series(policy, changed, folder) != usual for changed in few):
                left.discard(each)
    return left


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_setting_shows_or_says_why_not(name: str, tmp_path: Path) -> None:
    assert unseen(name, tmp_path) == set(), "nothing shows these: give them an episode or a reason"


def set_by(path: Path) -> set[str]:
    """The names to which a file of tests gives a value: as keywords, and as keys of tables."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.keyword(arg=str(name)):
                found.add(name)
            case ast.Dict(keys=keys):
                found.update(str(key.value) for key in keys if isinstance(key, ast.Constant))
            case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Store()):
                found.add(name)
            case _:
                pass
    return found


def test_reasons_name_settings_and_the_tests_that_show_them() -> None:
    for name, reasons in QUIET.items():
        for setting, reason in reasons.items():
            assert setting in POLICIES[name].settings.model_fields, (name, setting)
            if reason.startswith("tests/"):
                assert setting in set_by(ROOT / reason), (name, setting)


@pytest.mark.parametrize(
    ("annotation", "value", "found"),
    [
        (Literal["a", "b"], "a", ["b"]),
        (bool, True, [False]),
        (int | None, None, [1, 3, 64]),
        (tuple[Literal["a", "b"], ...], ("a", "b"), [("a",), ("b",)]),
    ],
)
def test_a_setting_is_flipped_to_all_that_its_type_allows(
    annotation: Any, value: Any, found: list[Any]
) -> None:
    assert others(annotation, value) == found
