"""Wrong changes that people made by hand in what the papers describe, and that no test noticed then.

Each is a text to find, which stands once in its file, and what to put in its place; with the test files that have to
notice it. ``make mutants KNOWN=1`` tries them all.
"""

from __future__ import annotations

from dataclasses import dataclass

MC2 = ("tests/papers/test_mc2_*.py",)
COT2 = ("tests/papers/test_cot2_*.py",)
META = ("tests/papers/test_mr_*.py", "tests/handlers/learning/test_bandit*.py")
GRAPH = ("tests/papers/test_graph_*.py", "tests/streams/test_graph_*.py")
MGV = ("tests/papers/test_mgv_*.py",)
TREES = (*COT2, "tests/streams/analysis/test_*.py")
PROMPTS = (*COT2, "tests/handlers/roles/test_*.py")


@dataclass(frozen=True)
class Known:
    """A wrong change: where it came from, what it makes wrong, and how it is made."""

    source: str
    what: str
    path: str
    find: str
    put: str
    tests: tuple[str, ...]

    def applied(self, text: str) -> str:
        """The file with the change. Raises ``LookupError`` where what it replaces does not stand there once."""
        if text.count(self.find) != 1:
            raise LookupError(
                f"{self.path}: {self.find!r} stands there {text.count(self.find)} times"
            )
        return text.replace(self.find, self.put)


def _of(
    source: str, folder: str, tests: tuple[str, ...], *changes: tuple[str, str, str, str]
) -> tuple[Known, ...]:
    """Changes within one folder, which the same tests have to notice."""
    return tuple(
        Known(source, what, f"{folder}/{path}", find, put, tests)
        for what, path, find, put in changes
    )


KNOWN: tuple[Known, ...] = (
    *_of(
        "MC²",
        "handlers/policies/mc2",
        MC2,
        (
            "the consolidator never sees the rules that are there (eq. 11)",
            "consolidate.py",
            '"rules": "\\n".join(f"{name}: {rule}" for name, rule in self.rules),',
            '"rules": "",',
        ),
        (
            "the Controller sees excerpts instead of the whole trajectory and report (eq. 6)",
            "orchestrate.py",
            'own = _case(episode, attempt) | {"report": report.text}',
            'own = _case(episode, attempt) | {"report": _excerpt(episode, report), '
            '"trajectory": _excerpt(episode, attempt)}',
        ),
        (
            "lessons_per_batch is ignored",
            "distil.py",
            "chosen(batch.members, settings.lessons_per_batch)",
            "chosen(batch.members)",
        ),
        (
            "only the descriptor of a lesson is embedded",
            "distil.py",
            'descriptor_only = settings.embedded == "descriptor"',
            "descriptor_only = True",
        ),
        (
            "an old advice stays after a restart without one (eq. 4)",
            "orchestrate.py",
            'episode.advice = decision.advice or ""',
            "episode.advice = decision.advice or episode.advice",
        ),
    ),
    *_of(
        "CoT2-Meta",
        "handlers/policies/cot2_meta",
        COT2,
        (
            "half a scratchpad (S4) is a whole one",
            "grow.py",
            'seen = halved(lane.prefix) if lane.settings.scratchpad == "half" else lane.prefix',
            "seen = lane.prefix",
        ),
        (
            "repair at the lowest step instead of the earliest low one",
            "controller.py",
            "return int(m.low_step * m.steps)",
            "return m.lowest_step",
        ),
        (
            "the best survivor by v_out instead of v",
            "state.py",
            "(-n.value, address_order(n.id))",
            "(-(n.v_out or 0), address_order(n.id))",
        ),
        (
            "children forget that their lineage was repaired",
            "grow.py",
            "repairs=lane.parent.repairs if lane.old is None",
            "repairs=0 if lane.old is None",
        ),
    ),
    *_of(
        "CoT2-Meta",
        "streams/analysis",
        TREES,
        (
            "the audit's rate is inverted",
            "trees.py",
            '"false_prune_rate": audit.false_prune_rate,',
            '"false_prune_rate": audit.prune_precision,',
        ),
    ),
    *_of(
        "CoT2-Meta",
        "handlers/roles",
        PROMPTS,
        (
            "the prompts of Direct and Decompose are swapped",
            "thinker.py",
            "FRAME.format(task=TASKS[strategy])",
            'FRAME.format(task=TASKS[{"direct": "decompose", "decompose": "direct"}'
            ".get(strategy, strategy)])",
        ),
    ),
    *_of(
        "Meta-Reasoner",
        "handlers/policies/meta_reasoner",
        META,
        (
            "the credit within an episode ignores the reward",
            "solve.py",
            "credit(episode.arm, episode.features, reward.reward, rated)",
            "credit(episode.arm, episode.features, 0.0, rated)",
        ),
        (
            "the kept context is the proposal's vector instead of the report's",
            "reflect.py",
            "case Embedded() if self.seen is None:",
            "case Embedded():",
        ),
        (
            "dynamic strategies begin without the arms that were learned",
            "solve.py",
            'if task.memory_version > 0 and settings.arms == "scope":',
            'if task.memory_version > 0 and settings.strategies == "fixed":',
        ),
        (
            "R rates an arm where the setting says S_p",
            "solve.py",
            "rated = reward.progress if on_progress else reward.reward",
            "rated = reward.reward",
        ),
        (
            "a direct choice ignores the reply",
            "advise.py",
            "return next((arm for arm in arms if arm.id == named), arms[0]), said.source",
            "return arms[0], said.source",
        ),
    ),
    *_of(
        "Meta-Reasoner",
        "handlers/learning",
        META,
        (
            "no arm retires within an episode",
            "bandits.py",
            "self.arms[place] = settled(arm, self.constants)",
            "self.arms[place] = arm",
        ),
        (
            "a frozen bandit learns all the same",
            "bandits.py",
            "        if self.frozen:\n            return\n",
            "",
        ),
    ),
    *_of(
        "graph memory",
        "handlers/policies/graph_memory",
        GRAPH,
        (
            "the path that succeeded is shown to the Inducer as the one that failed",
            "induce.py",
            '"path_that_failed": "\\n".join(self.failed),',
            '"path_that_failed": "\\n".join(self.succeeded),',
        ),
        (
            "the principle of a pair is the heaviest instead of a drawn one",
            "weigh.py",
            'chosen = drawn(shares, hash01(batch.seed, member.episode, "pair"))',
            "chosen = max(shares, key=lambda name: shares[name])",
        ),
        (
            "every case counts as alike (Sim is 1)",
            "activate.py",
            "item.id: item.similarity\n",
            "item.id: 1.0\n",
        ),
        (
            "the Grounder sees an empty transcript",
            "runs.py",
            '"transcript": text or "(nothing)"',
            '"transcript": "(nothing)"',
        ),
        (
            "all roll-outs have one seed",
            "build.py",
            "seed_of(batch.seed, member.episode, at)",
            "seed_of(batch.seed, member.episode, 0)",
        ),
        (
            "the paper's profile reads paths by the table of events",
            "settings.py",
            '        "grounding": "model",\n',
            "",
        ),
        (
            "the paper's profile collapses cycles",
            "settings.py",
            '        "path_cycles": "keep",\n',
            "",
        ),
        (
            "the paper's profile skips a lone principle",
            "settings.py",
            '        "lone": "run",\n',
            "",
        ),
    ),
    *_of(
        "MGV",
        "handlers/policies/mgv",
        MGV,
        (
            "the diagnosis is always plain",
            "feel.py",
            "diagnosis = diagnose(mind, felt)",
            'diagnosis = "plain"',
        ),
        (
            "difficulty is p instead of 1 - p",
            "signals.py",
            "assess = 1 - recalled(labelled)",
            "assess = recalled(labelled)",
        ),
        (
            "retrieval monitors although it is told not to",
            "retrieval.py",
            'if search.settings.monitor == "off" or (looks and width == "stop"):',
            'if looks and width == "stop":',
        ),
        (
            "confidence is never calibrated",
            "attempt.py",
            "assess = raw if calibrator is None else min(1.0, max(0.0, calibrator(raw)))",
            "assess = raw",
        ),
        (
            "the examiner always looks for coherence",
            "flavell.py",
            "EXAMINERS[last.check].put(own)",
            'EXAMINERS["coherence"].put(own)',
        ),
        (
            "acquisition chooses a strategy whatever its calls afford",
            "acquisition.py",
            "affordable(rates, calls)",
            "affordable(rates, 1_000)",
        ),
        (
            "a blend of feeling and knowledge is the feeling",
            "signals.py",
            'return Felt((feel + assess) / 2, "blend")',
            'return Felt(feel, "blend")',
        ),
        (
            "consolidation after each check never happens",
            "flavell.py",
            'if run.settings.consolidation == "verify":',
            "if False:",
        ),
        (
            "an intensive round retrieves no more than another",
            "retrieval.py",
            '(settings.intensive_factor if last == "intensive" else 1)',
            "1",
        ),
        (
            "an answer of another type surprises nobody",
            "flavell.py",
            "other_type=run.wrong_type(made.answer))",
            "other_type=False)",
        ),
    ),
)
