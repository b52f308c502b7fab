"""Wrong changes that people made by hand in what the papers describe, and that no test noticed then.

Each is a text to find, which stands once in its file, and what to put in its place; with the test that has to
notice it. ``make mutants KNOWN=1`` tries each on its test alone.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """A wrong change: where it came from, what it makes wrong, and how it is made."""

    source: str
    what: str
    path: str
    find: str
    put: str
    test: str

    def applied(self, text: str) -> str:
        """The file with the change. Raises ``LookupError`` where what it replaces does not stand there once."""
        if text.count(self.find) != 1:
            raise LookupError(
                f"{self.path}: {self.find!r} stands there {text.count(self.find)} times"
            )
        return text.replace(self.find, self.put)


def _of(source: str, folder: str, *changes: tuple[str, str, str, str, str]) -> tuple[Known, ...]:
    """Changes within one folder: what, where, from what, to what, and who notices."""
    return tuple(
        Known(source, what, f"{folder}/{path}", find, put, f"tests/{test}")
        for what, path, find, put, test in changes
    )


KNOWN: tuple[Known, ...] = (
    *_of(
        "MC²",
        "handlers/policies/mc2",
        (
            "the consolidator never sees the rules that are there (eq. 11)",
            "consolidate.py",
            '"rules": "\\n".join(f"{name}: {rule}" for name, rule in self.rules),',
            '"rules": "",',
            "papers/test_mc2_next_question.py::test_the_consolidator_is_shown_the_rules_before_the_batch",
        ),
        (
            "the Controller sees excerpts instead of the whole trajectory and report (eq. 6)",
            "orchestrate.py",
            'own = _case(episode, attempt) | {"report": report.text}',
            'own = _case(episode, attempt) | {"report": _excerpt(episode, report), '
            '"trajectory": _excerpt(episode, attempt)}',
            "papers/test_mc2_next_question.py::test_the_controller_is_shown_the_whole_trajectory_and_report",
        ),
        (
            "lessons_per_batch is ignored",
            "distil.py",
            "chosen(batch.members, settings.lessons_per_batch)",
            "chosen(batch.members)",
            "papers/test_mc2_next_question.py::test_so_many_lessons_a_batch_and_no_more",
        ),
        (
            "only the descriptor of a lesson is embedded",
            "distil.py",
            'descriptor_only = settings.embedded == "descriptor"',
            "descriptor_only = True",
            "papers/test_mc2_next_question.py::test_a_lesson_is_found_by_more_than_its_descriptor",
        ),
        (
            "an old advice stays after a restart without one (eq. 4)",
            "orchestrate.py",
            'episode.advice = decision.advice or ""',
            "episode.advice = decision.advice or episode.advice",
            "papers/test_mc2_next_question.py::test_advice_of_an_older_round_is_gone_after_a_restart_without_any",
        ),
    ),
    *_of(
        "CoT2-Meta",
        "handlers/policies/cot2_meta",
        (
            "half a scratchpad (S4) is a whole one",
            "grow.py",
            'seen = halved(lane.prefix) if lane.settings.scratchpad == "half" else lane.prefix',
            "seen = lane.prefix",
            "papers/test_cot2_mechanisms.py::test_half_a_scratchpad_is_what_the_next_thinker_sees",
        ),
        (
            "repair at the lowest step instead of the earliest low one",
            "controller.py",
            "return int(m.low_step * m.steps)",
            "return m.lowest_step",
            "papers/test_cot2_mechanisms.py::test_repair_begins_at_the_earliest_low_step_not_at_the_lowest",
        ),
        (
            "the best survivor by v_out instead of v",
            "state.py",
            "(-n.value, address_order(n.id))",
            "(-(n.v_out or 0), address_order(n.id))",
            "papers/test_cot2_mechanisms.py::test_the_best_survivor_is_the_one_of_the_highest_value_not_of_the_highest_confidence",
        ),
        (
            "children forget that their lineage was repaired",
            "grow.py",
            "repairs=lane.parent.repairs if lane.old is None",
            "repairs=0 if lane.old is None",
            "papers/test_cot2_mechanisms.py::test_what_grows_from_a_repair_is_of_its_lineage_and_not_repaired_again",
        ),
    ),
    *_of(
        "CoT2-Meta",
        "streams/research/analysis",
        (
            "the audit's rate is inverted",
            "trees.py",
            '"false_prune_rate": audit.false_prune_rate,',
            '"false_prune_rate": audit.prune_precision,',
            "streams/bench/test_worlds.py::test_a_false_prune_is_looked_for_under_the_spared_node",
        ),
    ),
    *_of(
        "CoT2-Meta",
        "handlers/roles",
        (
            "the prompts of Direct and Decompose are swapped",
            "thinker.py",
            "FRAME.format(task=TASKS[strategy])",
            'FRAME.format(task=TASKS[{"direct": "decompose", "decompose": "direct"}'
            ".get(strategy, strategy)])",
            "papers/test_cot2_mechanisms.py::test_direct_and_decompose_are_asked_for_what_they_are_named_after",
        ),
    ),
    *_of(
        "Meta-Reasoner",
        "handlers/policies/meta_reasoner",
        (
            "the credit within an episode ignores the reward",
            "solve.py",
            "credit(episode.arm, episode.features, reward.reward, rated)",
            "credit(episode.arm, episode.features, 0.0, rated)",
            "papers/test_mr_guides.py::test_a_reward_counts_within_its_own_episode",
        ),
        (
            "the kept context is the proposal's vector instead of the report's",
            "reflect.py",
            "case Embedded() if self.seen is None:",
            "case Embedded():",
            "papers/test_mr_guides.py::test_what_is_kept_as_context_is_the_report_and_no_proposal",
        ),
        (
            "dynamic strategies begin without the arms that were learned",
            "solve.py",
            'if task.memory_version > 0 and settings.arms == "scope":',
            'if task.memory_version > 0 and settings.strategies == "fixed":',
            "papers/test_mr_algorithm.py::test_arms_are_initialised_for_a_scope_and_come_with_its_memory",
        ),
        (
            "R rates an arm where the setting says S_p",
            "solve.py",
            "rated = reward.progress if on_progress else reward.reward",
            "rated = reward.reward",
            "papers/test_mr_guides.py::test_an_arm_retires_within_an_episode_by_what_retirement_looks_at",
        ),
        (
            "a direct choice ignores the reply",
            "advise.py",
            "arm = next((arm for arm in arms if arm.id == named), arms[0])",
            "arm = arms[0]",
            "papers/test_mr_switches.py::test_direct_choice_has_no_score_and_no_update",
        ),
    ),
    *_of(
        "Meta-Reasoner",
        "handlers/learning",
        (
            "no arm retires within an episode",
            "bandits.py",
            "self.arms[place] = settled(arm, self.constants)",
            "self.arms[place] = arm",
            "papers/test_mr_guides.py::test_an_arm_retires_within_an_episode_by_what_retirement_looks_at",
        ),
        (
            "a frozen bandit learns all the same",
            "bandits.py",
            "        if self.frozen:\n            return\n",
            "",
            "papers/test_mr_guides.py::test_frozen_arms_are_credited_nothing_within_an_episode",
        ),
    ),
    *_of(
        "graph memory",
        "handlers/policies/graph_memory",
        (
            "the path that succeeded is shown to the Inducer as the one that failed",
            "induce.py",
            '"path_that_failed": "\\n".join(self.failed),',
            '"path_that_failed": "\\n".join(self.succeeded),',
            "papers/test_graph_inducer.py::test_what_the_inducer_is_told",
        ),
        (
            "the principle of a pair is the heaviest instead of a drawn one",
            "weigh.py",
            'chosen = drawn(shares, hash01(batch.seed, member.episode, "pair"))',
            "chosen = max(shares, key=lambda name: shares[name])",
            "papers/test_graph_says.py::test_pairs_are_drawn_and_not_always_of_the_most_relevant",
        ),
        (
            "every case counts as alike (Sim is 1)",
            "activate.py",
            "item.id: item.similarity\n",
            "item.id: 1.0\n",
            "papers/test_graph_says.py::test_likeness_decides_which_principle_is_shown_first",
        ),
        (
            "the Grounder sees an empty transcript",
            "runs.py",
            '"transcript": text or "(nothing)"',
            '"transcript": "(nothing)"',
            "papers/test_graph_build.py::test_a_path_can_be_read_by_a_model",
        ),
        (
            "all roll-outs have one seed",
            "build.py",
            "seed_of(batch.seed, member.episode, at)",
            "seed_of(batch.seed, member.episode, 0)",
            "papers/test_graph_says.py::test_each_roll_out_has_luck_of_its_own",
        ),
        (
            "the paper's profile reads paths by the table of events",
            "settings.py",
            '        "grounding": "model",\n',
            "",
            "papers/test_graph_says.py::test_the_grounder_reads_question_reasoning_calls_and_results",
        ),
        (
            "the paper's profile collapses cycles",
            "settings.py",
            '        "path_cycles": "keep",\n',
            "",
            "papers/test_graph_says.py::test_the_papers_profile_reads_keeps_and_weighs_as_it_is_written",
        ),
        (
            "the paper's profile skips a lone principle",
            "settings.py",
            '        "lone": "run",\n',
            "",
            "papers/test_graph_says.py::test_the_papers_profile_reads_keeps_and_weighs_as_it_is_written",
        ),
    ),
    *_of(
        "MGV",
        "handlers/policies/mgv",
        (
            "the diagnosis is always plain",
            "feel.py",
            "diagnosis = diagnose(mind, felt)",
            'diagnosis = "plain"',
            "papers/test_mgv_cycles.py::test_a_diagnosis_is_taken_over_from_cases_that_were_solved_under_it",
        ),
        (
            "difficulty is p instead of 1 - p",
            "signals.py",
            "assess = 1 - recalled(labelled)",
            "assess = recalled(labelled)",
            "papers/test_mgv_knows.py::test_after_a_doubtful_attempt_a_problem_is_harder",
        ),
        (
            "retrieval monitors although it is told not to",
            "retrieval.py",
            'if search.settings.monitor == "off" or (looks and width == "stop"):',
            'if looks and width == "stop":',
            "papers/test_mgv_knows.py::test_without_monitoring_a_search_is_always_the_same_wide",
        ),
        (
            "confidence is never calibrated",
            "attempt.py",
            "assess = raw if calibrator is None else min(1.0, max(0.0, calibrator(raw)))",
            "assess = raw",
            "papers/test_mgv_knows.py::test_a_calibrator_changes_what_a_confidence_counts_for",
        ),
        (
            "the examiner always looks for coherence",
            "flavell.py",
            "EXAMINERS[last.check].put(own)",
            'EXAMINERS["coherence"].put(own)',
            "papers/test_mgv_knows.py::test_the_check_answers_the_strongest_evaluation",
        ),
        (
            "acquisition chooses a strategy whatever its calls afford",
            "acquisition.py",
            "affordable(rates, calls)",
            "affordable(rates, 1_000)",
            "papers/test_mgv_knows.py::test_a_strategy_that_is_too_dear_for_its_share_is_not_begun",
        ),
        (
            "a blend of feeling and knowledge is the feeling",
            "signals.py",
            'return Felt((feel + assess) / 2, "blend")',
            'return Felt(feel, "blend")',
            "papers/test_mgv_cycles.py::test_what_is_said_of_the_difficulty_counts_as_the_signal_says",
        ),
        (
            "consolidation after each check never happens",
            "flavell.py",
            'if run.settings.consolidation == "verify":',
            "if False:",
            "papers/test_mgv_cycles.py::test_tuples_are_kept_after_each_check_where_that_is_set",
        ),
        (
            "an intensive round retrieves no more than another",
            "retrieval.py",
            '(settings.intensive_factor if last == "intensive" else 1)',
            "1",
            "papers/test_mgv_knows.py::test_after_a_wide_search_more_comes_to_mind",
        ),
        (
            "an answer of another type surprises nobody",
            "flavell.py",
            "other_type=run.wrong_type(made.answer))",
            "other_type=False)",
            "papers/test_mgv_knows.py::test_an_answer_of_another_type_than_similar_right_ones_is_unexpected_to_who_knows",
        ),
    ),
    *_of(
        "made in the first build",
        "streams/research/analysis",
        (
            "figure 3 looks for another word than the log's",
            "mechanisms.py",
            'Unit(case.about, act == "restart")',
            'Unit(case.about, act == "RESTART")',
            "streams/bench/test_worlds.py::test_restarts_are_counted_as_the_log_spells_them",
        ),
    ),
    *_of(
        "made in the first build",
        "handlers/policies/mgv",
        (
            "the calibrator learns from the last attempt, not from the one whose answer was given",
            "reflect.py",
            "return found[0] if found else {}",
            "return signals[-1] if signals else {}",
            "papers/test_mgv_cycles.py"
            "::test_a_confidence_is_learned_from_with_the_answer_that_was_given",
        ),
        (
            "evidence as much for as against counts as predicted wrong",
            "satisfice.py",
            "success = not tied and case",
            "success = case",
            "papers/test_mgv_cycles.py::test_cases_with_as_much_for_as_against_leave_the_threshold_alone",
        ),
    ),
    *_of(
        "made in the first build",
        "handlers/roles",
        (
            "the first answer in tags counts, and not the last",
            "agent.py",
            "list(_ANSWER.each(text))[-1:]",
            "list(_ANSWER.each(text))[:1]",
            "papers/test_graph_machine.py::test_of_several_tags_the_last_whole_one_counts",
        ),
        (
            "the number behind the first label of confidence counts",
            "confidence.py",
            "for label in reversed(list(_LABEL.finditer(text))[-TRIES:]):",
            "for label in list(_LABEL.finditer(text))[-TRIES:]:",
            "papers/test_cot2_parse.py::test_confidence_is_what_stands_behind_its_last_label",
        ),
    ),
    *_of(
        "made in the first build",
        "handlers/answers",
        (
            "of several aliases only the first is compared with",
            "grade.py",
            "return best((_graded(answer, each, dataset, problem) for each in aliases), aliases)",
            "return _graded(answer, aliases[0], dataset, problem)",
            "handlers/answers/test_free_text.py::test_what_was_said",
        ),
    ),
    *_of(
        "a drawn sample",
        "handlers/policies/mc2",
        (
            "one lesson of good and bad cases alike stands on one side",
            "distil.py",
            'sides[0] if len(sides) == 1 else "both"',
            "sides[0]",
            "papers/test_mc2_together.py"
            "::test_a_lesson_stands_on_the_side_of_its_cases_and_is_of_a_problem_where_it_rests_on_one",
        ),
        (
            "a lesson of many problems is withheld from the first of them alone",
            "distil.py",
            'selected[0].subject if len(selected) == 1 else ""',
            "selected[0].subject",
            "papers/test_mc2_together.py"
            "::test_a_lesson_stands_on_the_side_of_its_cases_and_is_of_a_problem_where_it_rests_on_one",
        ),
        (
            "distillers draw as nobody has set it",
            "distil.py",
            "            sampling=settings.sampling,\n",
            "",
            "papers/test_mc2_next_question.py::test_every_question_draws_as_the_settings_say",
        ),
        (
            "who learns nothing is asked again where a problem was forgotten",
            "__init__.py",
            "    if not settings.learns:\n        return\n    together",
            "    together",
            "papers/test_mc2_together.py"
            "::test_lessons_stay_and_the_rules_that_rested_on_what_was_forgotten_are_written_again",
        ),
    ),
    *_of(
        "a drawn sample",
        "streams",
        (
            "actions of any depth count as of each",
            "research/analysis/control.py",
            "if depth in (None, at):",
            "if True:",
            "streams/analysis/test_control.py::test_each_action_counts_at_its_depth_alone",
        ),
        (
            "a prune that nobody can judge was precise",
            "research/analysis/control.py",
            "None if unit.value is None else 1 - unit.value",
            "1 - (unit.value or 0)",
            "streams/analysis/test_control.py"
            "::test_a_prune_was_precise_where_nothing_right_came_of_it_and_unknown_where_nobody_can_say",
        ),
        (
            "a paragraph is in a corpus as often as a question has it",
            "support/datasets/hotpotqa.py",
            "if digest not in seen:",
            "if True:",
            "streams/test_hotpotqa.py"
            "::test_a_paragraph_is_in_the_corpus_once_and_the_same_title_or_text_is_no_paragraph_twice",
        ),
        (
            "version 0 does not say whose rules it begins with",
            "engine/learner.py",
            'origin = f"{source.scope}@{source.name}"',
            'origin = f"{scope.id}@0"',
            "streams/test_learner.py"
            "::test_a_scope_that_starts_from_another_says_whose_rules_it_begins_with",
        ),
        (
            "a run goes over its problems in an order of its own",
            "research/bench/recipe.py",
            'order: Literal["released", "shuffled"] = "released"',
            'order: Literal["released", "shuffled"] = "shuffled"',
            "streams/bench/test_sources.py::test_what_a_run_does_not_say_is_the_plain_thing",
        ),
    ),
    *_of(
        "a drawn sample",
        "schemas",
        (
            "who waited in vain is told of spent calls",
            "asking.py",
            'super().__init__("patience")',
            'super().__init__("calls")',
            "papers/test_mc2_learn.py"
            "::test_a_question_that_was_given_up_costs_its_lesson_alone_and_is_told_from_a_spent_limit",
        ),
    ),
)
