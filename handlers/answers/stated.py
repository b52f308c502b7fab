"""How the problems of a domain are put: what a bare problem leaves unsaid, and the form of its answer.

A data set of puzzles gives four numbers and nothing else; whoever is asked must be told what to do with
them. The statement stands in prompts only: graders, memory and recorded replies know a problem by its
bare text. A domain of a user's own says it on its problems (``statement``).

Only who gives an answer is told its form. A small model that judges work takes "one number, without its
unit" for one more condition, and sends right answers back for it.
"""

from __future__ import annotations

from collections.abc import Mapping

TASKS: Mapping[str, str] = {
    "game24": """\
Four numbers are given. Use each of them exactly once, and no other number, with addition, subtraction, \
multiplication, division and parentheses, so that the result is 24.""",
}
"""What there is to do with a problem, by domain. A domain that is not here puts its problems itself."""
FORMS: Mapping[str, str] = {
    # These words are part of prompts, and so of the fingerprints of recorded questions: a changed
    # one diverges from every log that asked it.
    "game24": "The answer is one arithmetic expression of the four numbers, without an equals sign.",
    "gsm8k": "The answer is one number, without its unit.",
    "math500": "The answer is one exact value or expression in its simplest form.",
    "theoremqa": """\
The answer is a number, a list of numbers, True or False, or the letter of an option, as the question asks.""",
    "scibench": "The answer is one decimal number in the unit that the problem names, without the unit.",
    "python": """\
The answer is Python code that does what the problem asks for, whole, with nothing left out. It is run as it stands.""",
    "multiple_choice": "The answer is the letter of the right option and nothing else.",
    "yes_no": "The answer is yes or no.",
    "free_text": "The answer is the bare answer, in as few words as it takes, no sentence.",
    "hotpotqa": """\
The answer is a name, a date, a number, yes or no: the few words that the question asks for, no sentence.""",
}
"""How an answer is to be written, by domain."""
STATEMENTS: Mapping[str, str] = {
    domain: f"{TASKS[domain]} {form}" if domain in TASKS else form for domain, form in FORMS.items()
}
"""Both, by domain."""


def stated(domain: str, problem: str, own: str | None = None, form: str | None = None) -> str:
    """A problem as who answers it is shown it; its ``own`` statement is stronger than that of its domain.

    The ``form`` of an answer that has a type is stronger than its domain's, and stands behind its own statement.
    """
    if form is not None:
        task = own or TASKS.get(domain)
        return _under(form if task is None else f"{task} {form}", problem)
    return _under(own or STATEMENTS.get(domain), problem)


def posed(domain: str, problem: str, own: str | None = None, more: str | None = None) -> str:
    """A problem as who gives no answer to it is shown it: what there is to do, and not how to write the answer.

    Its ``own`` statement stays whole, for nobody can tell the one from the other in it. ``more`` is what its
    answer's type adds to the task, such as the options of a choice.
    """
    task = " ".join(filter(None, (own or TASKS.get(domain), more)))
    return _under(task or None, problem)


def _under(statement: str | None, problem: str) -> str:
    return problem if statement is None else f"{statement}\n\n{problem}"


def bare(text: str) -> str:
    """A problem that a prompt shows, without the statement of its domain."""
    # The longest statement comes first, since a task alone is the beginning of a whole statement.
    for statement in (*STATEMENTS.values(), *TASKS.values()):
        if text.startswith(statement):
            return text[len(statement) :].lstrip()
    return text
