"""The questions that a policy may ask, and the replies it gets back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from msgspec import Struct, structs

from schemas.answer_type import AnswerType
from schemas.asking import Ask, R_co
from schemas.fence import fenced
from schemas.identity import digest, text_digest
from schemas.outcome import Found, Heard, Outcome
from schemas.prompt import Message, Template


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to draw; ``None`` leaves the endpoint's default alone (MC² § C.8.2)."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    logprobs: bool = False
    timeout_s: float | None = None
    """How long a reply is waited for: no part of what is asked."""


DEFAULT_SAMPLING = Sampling()
GUIDANCE = "guidance"
"""The variable of a prompt that holds what was learned from other problems."""


@lru_cache(maxsize=256)
def _digest_of(sampling: Sampling) -> str:
    # How long a reply is waited for is no part of what is asked: patience may change without a
    # divergence.
    values = (sampling.temperature, sampling.top_p, sampling.max_tokens, sampling.stop)
    return digest([*values, sampling.logprobs])


_DEFAULT_DIGEST = _digest_of(DEFAULT_SAMPLING)


def _sampling_digest(sampling: Sampling) -> str:
    return _DEFAULT_DIGEST if sampling is DEFAULT_SAMPLING else _digest_of(sampling)


# A question and its reply are made at every step of an episode, and a frozen dataclass takes ten times
# as long to make as a struct.
class Completion(Struct, frozen=True):
    """A model's reply: text, why it ended (``stop length refusal timeout error``), by which model."""

    address: str
    text: str
    finish: str
    model: str
    truncated: bool = False
    logprob: float | None = None
    tokens: int | None = None
    """Prompt and completion tokens, if the endpoint said."""
    answer_logprob: float | None = None
    """Mean log-probability of the tokens of its answer, where the endpoint tells each token's."""
    template: Template | None = None
    """The prompt that it was asked with, in the words that its role was given."""

    @property
    def cut(self) -> bool:
        """Whether it was cut off by its length: what stands in it is no last word."""
        return self.finish == "length"


class Complete(Struct, Ask[Completion], frozen=True):
    """One model call by a role. ``draw`` tells equal prompts of one episode apart (five samples: 0-4).

    ``history`` holds turns that follow the prompt, such as an unreadable reply and the request to
    mend it. ``keeps`` is how many calls a limit must leave over after it: it is no part of the question.
    """

    role: str
    template: Template
    variables: tuple[tuple[str, str], ...]
    sampling: Sampling = DEFAULT_SAMPLING
    draw: int = 0
    history: tuple[Message, ...] = ()
    keeps: int = 0

    def messages(self) -> tuple[Message, ...]:
        # A reply that is sent back holds what a model wrote, and a request to mend it what we say
        # of that.
        """What the model sees, oldest first. Nothing in a later turn of ours opens a section either."""
        prompt = self.template.render(dict(self.variables))
        if not self.history:
            return prompt
        turns = (
            (who, fenced("turn", text) if who == "user" else text) for who, text in self.history
        )
        return (*prompt, *turns)

    def unguided(self) -> tuple[Message, ...] | None:
        """What the model sees without what was learned from other problems; none where nothing of it is shown."""
        if not dict(self.variables).get(GUIDANCE):
            return None
        kept = tuple((name, "" if name == GUIDANCE else said) for name, said in self.variables)
        return structs.replace(self, variables=kept).messages()

    # Made here at once, and not of ``parts``: a fingerprint is taken for every call, the names of
    # its parts only where one differs.
    def fingerprint(self) -> str:
        # A variable's name is in its digest: the same value elsewhere is another prompt.
        digests = [text_digest(f"{name}={value}") for name, value in self.variables]
        history = digest(self.history) if self.history else "-"
        sampling = _sampling_digest(self.sampling)
        return " ".join(
            (
                "Complete",
                self.role,
                self.template.digest,
                *digests,
                history,
                sampling,
                str(self.draw),
            )
        )

    def parts(self) -> Sequence[tuple[str, str]]:
        return (
            ("role", self.role),
            ("template", self.template.digest),
            *((name, text_digest(f"{name}={value}")) for name, value in self.variables),
            ("history", digest(self.history) if self.history else "-"),
            ("sampling", _sampling_digest(self.sampling)),
            ("draw", str(self.draw)),
        )


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """A memory item as a policy sees it. ``similarity`` is its cosine to the query; none for rules."""

    id: str
    kind: str
    role: str
    text: str
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Recollection:
    """What an episode may know of what it asked for, from the memory version that it pins."""

    version: int
    items: tuple[RecalledItem, ...]
    learned: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arms, weights and beliefs of that version, as the scope's learning rule left them."""
    unrelated: tuple[str, ...] = ()
    """Roles that have lessons none of which has to do with the query, where only related ones were wanted."""
    embedder: str | None = None
    """What made that version's vectors, if it holds any."""

    def of(self, role: str, kind: str) -> tuple[RecalledItem, ...]:
        """The items of one role and kind, in the order recalled."""
        return tuple(item for item in self.items if item.role == role and item.kind == kind)


@dataclass(frozen=True, slots=True)
class Recall(Ask[Recollection]):
    """Rules of the roles, and for each role the ``top`` lessons most similar to the query.

    Items whose subject is ``exclude`` are left out: a problem never retrieves its own lessons.
    """

    query: str
    roles: tuple[str, ...]
    top: int
    kinds: tuple[str, ...] = ("rule", "lesson")
    exclude: str = ""
    related: bool = False
    """Whether lessons that have nothing to do with the query are left out, and each is wanted once."""

    def parts(self) -> Sequence[tuple[str, str]]:
        # Digests of earlier logs do not have the word, so that it is said only where it holds.
        related = ("related",) if self.related else ()
        wanted = digest([self.roles, self.top, self.kinds, self.exclude, *related])
        return (("query", text_digest(self.query)), ("wanted", wanted))


@dataclass(frozen=True, slots=True)
class Embed(Ask[tuple[tuple[float, ...], ...]]):
    """One vector for each text, float16 precision, so that nothing is ever embedded twice."""

    texts: tuple[str, ...]
    named: bool = False
    """Whether the record says of each vector which text it is made of, for those who look for it later."""

    def parts(self) -> Sequence[tuple[str, str]]:
        return (("texts", digest(self.texts)),)


@dataclass(frozen=True, slots=True)
class Worth(Ask[R_co]):
    """What an answer is worth, as the domain's checker says, which needs the problem only; no model call.

    A learner may name the problem as ``subject`` (``domain/id``): where the domain has no checker, its
    label says. A policy that solves never does.
    """

    domain: str
    problem: str
    answer: str
    subject: str = ""
    typed: AnswerType | None = None
    """What the answer is, where its problem says so: a label is compared in that form."""

    def parts(self) -> Sequence[tuple[str, str]]:
        return (
            ("domain", text_digest(self.domain)),
            ("problem", text_digest(self.problem)),
            ("answer", text_digest(self.answer)),
            # The same holds for what a check is given beside the answer.
            *((("subject", text_digest(self.subject)),) if self.subject else ()),
            *((("typed", text_digest(self.typed.text)),) if self.typed else ()),
        )


class Check(Worth[Outcome]):
    """Is this answer right?"""

    __slots__ = ()


class Credit(Worth[float | None]):
    """How much of this answer is right, from 0 to 1: token F1 where the data set is of questions."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool returned: ``found``, ``empty``, ``refused`` (no such tool here) or ``error``."""

    text: str
    result: Found


@dataclass(frozen=True, slots=True)
class UseTool(Ask[ToolResult]):
    """One call of a tool with its arguments. Tools never raise into a policy: a failure is a result."""

    tool: str
    arguments: tuple[tuple[str, str | int], ...]

    def parts(self) -> Sequence[tuple[str, str]]:
        return (("tool", text_digest(self.tool)), ("arguments", digest(self.arguments)))


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a person made of a question: an answer of his own, a verdict on the one that was proposed, or neither.

    ``result`` is ``answered``; ``passed`` where he cannot tell; ``nobody`` where there was nobody to ask, as in a
    solve, a fork, a set or while something is learned. ``by`` is his name; none where nobody was asked.
    """

    result: Heard
    answer: str | None = None
    verdict: bool | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Review(Ask[Reviewed]):
    """A question for a person. The episode waits for him, however long that takes, and holds nothing meanwhile.

    ``proposed`` is the answer that he may call right or wrong; without one he gives the answer himself.
    """

    question: str
    proposed: str | None = None

    def parts(self) -> Sequence[tuple[str, str]]:
        proposed = "-" if self.proposed is None else text_digest(self.proposed)
        return (("question", text_digest(self.question)), ("proposed", proposed))


@dataclass(frozen=True, slots=True)
class Remaining:
    """What limit and allowance leave to the policy at this point; ``None`` means unlimited."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Remain(Ask[Remaining]):
    """How much may still be spent: a pure function of the record, so it is not recorded itself."""

    # It is derived from the record, and an answer that was recorded could contradict it.
    at: str = field(default="remaining", init=False)

    def parts(self) -> Sequence[tuple[str, str]]:
        return ()
