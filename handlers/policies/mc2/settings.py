"""Settings of MC², each with the options that the paper leaves open; the first is the default.

Source: MC² § C.7, § C.8, App. D; design/mc2.md#decisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, cast

from pydantic import BeforeValidator, PositiveInt
from pydantic import Field as Bounded

from schemas.questions import Sampling
from schemas.settings import PolicySettings

RoleName: TypeAlias = Literal["reasoner", "monitor", "controller"]
Source: TypeAlias = Literal["rules", "lessons"]

ROLES: tuple[RoleName, ...] = ("reasoner", "monitor", "controller")
NAMED: Mapping[str, RoleName] = {role: role for role in ROLES}
LETTERS: Mapping[RoleName, str] = {"reasoner": "R", "monitor": "M", "controller": "C"}
KINDS: Mapping[Source, str] = {"rules": "rule", "lessons": "lesson"}


def _sources(value: Any) -> Any:
    """``none``, ``lessons``, ``rules,lessons`` or a list, in canonical order without repeats."""
    # In canonical order, because the settings' digest is part of a scope's name. What is unknown
    # stays in, so that the validation behind this names it.
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",")]
    if isinstance(value, list | tuple):
        chosen = [name for name in cast("Sequence[Any]", value) if name != "none"]
        unknown = [name for name in chosen if name not in KINDS]
        return (*(source for source in KINDS if source in chosen), *unknown)
    return value


class Mc2Settings(PolicySettings):
    """Settings of MC²."""

    paper: ClassVar[Mapping[str, Any]] = {
        "output_cap": None,
        "lessons_per_batch": None,
        "ask_again": False,
        "learned_form": "strict",
        "teaching": "extremes",
        "clean_reports": "ask",
        "patch_grade": "A",
        "course": "off",
        "relevance_floor": None,
        "held_out": 0.0,
        "figures": "keep",
        "patches": "taken",
        "context_chars": 200_000,
    }
    learning: ClassVar[frozenset[str]]
    later: ClassVar[frozenset[str]] = frozenset({"composer", "figures", "patches", "unjudged"})

    roles: Literal["RMC", "R"] = "RMC"
    """Reasoner, Monitor and Controller; or the Reasoner alone (ablations)."""
    guidance: Annotated[tuple[Source, ...], BeforeValidator(_sources)] = ("rules", "lessons")
    """What prompts may take from memory; ``none`` switches learning off too."""
    max_rounds: PositiveInt = 3
    """N."""
    advice: Literal["both", "direct", "composer"] = "both"
    """D1: who sees the Controller's advice: the Reasoner, its composer, or both; without composers the Reasoner."""
    composer: Literal["on", "off"] = "on"
    """Whether a composer makes a note of rules and lessons before each call, or roles are shown them as they are."""
    accept_answer: Literal["reasoner", "controller"] = "reasoner"
    """Whose answer counts after an accept."""
    clean_reports: Literal["accept", "ask"] = "accept"
    """Whether a report without a fault accepts an answer by itself, or the Controller is asked all the same."""
    patch_grade: Literal["B", "A"] = "B"
    """The grade of an answer patched in the first round: lower than an accept, for nobody checks a patch."""
    patches: Literal["again", "taken"] = "again"
    """Whether a patch that changes the answer sends the Reasoner back while a round is left, or is taken unchecked."""
    unjudged: Literal["unknown", "C"] | None = None
    """The confidence in an answer that no readable decision was about: unknown, or that of one which was sent back;
    none: this, where grades are the paper's (`patch_grade` A), else unknown."""
    ask_again: bool = True
    """Whether the Reasoner is asked once more where no answer can be read, with what was wrong."""
    lesson_window: PositiveInt = 3
    """w: batches whose lessons stay live."""
    lessons_shown: PositiveInt = 3
    """k of the top-k retrieval."""
    batch_size: PositiveInt | None = None
    """m; none: from the size of the series (eq. 17)."""
    relevance_floor: Literal["embedder"] | Annotated[float, Bounded(ge=-1, le=1)] | None = (
        "embedder"
    )
    """Lessons less similar to the problem (cosine) are not shown; a role whose lessons all are gets no coach.
    ``embedder``: from where on its cosines mean something; of lessons that say the same one is shown."""
    held_out: Annotated[float, Bounded(ge=0, le=0.5)] = 0.2
    """D13: the share of a rule's episodes that do without it, so that each rule is measured by itself; 0: none."""
    exclude_self: bool = True
    """D11: a problem never retrieves its own lessons."""
    distil: Literal["per_reflection", "per_batch"] = "per_reflection"
    """D6: one lesson from each selected episode, or one from the batch."""
    teaching: Literal["all", "extremes"] = "all"
    """Which episodes teach: those mended by a restart or a patch, too, or only flawless and hopeless ones (eq. 9)."""
    course: Literal["on", "off"] = "on"
    """Whether the distiller is told what each round came to, and how each role was rated (eq. 14)."""
    outcome_tag: Literal["off", "on"] = "off"
    """D7: whether the distiller learns if the answer was right; never the right answer itself."""
    lessons_per_batch: PositiveInt | None = 10
    """So many lessons a role and batch at most, failed episodes first; none: all."""
    embedded: Literal["fields", "descriptor"] = "fields"
    """What of a lesson is embedded."""
    learned_form: Literal["soft", "strict"] = "soft"
    """Whether lessons, and up to six rules, are taken as far as they can be used, or refused unless all is as asked."""
    new_rules: Literal["soft", "strict"] = "soft"
    """D8: whether more than two new rules are only recorded, or refused."""
    bullets: Literal["soft", "strict"] = "soft"
    """D5: whether surplus bullets are left out, or refused; a long bullet is never cut inside a sentence."""
    figures: Literal["drop", "keep"] = "drop"
    """Whether a bullet for the Reasoner that names a number is left out: it solves where it was to advise, and a small
    model's wrong equation is followed."""
    learn_from: Literal["parsed", "donor"] = "parsed"
    """D9: with the Reasoner alone every parsed episode teaches; with the memory of a donor none does."""
    warm_start: str | None = None
    """The scope whose rules are version 0 of this one."""
    excerpt_chars: Annotated[int, Bounded(ge=200)] = 4_000
    """D3: how much of a trajectory, report or decision is shown where an excerpt is."""
    context_chars: PositiveInt = 80_000
    """How long a prompt may become (a window of 32k tokens holds 80,000 characters); what does not fit is left out."""
    output_cap: PositiveInt | None = 8_192
    """Tokens that one reply may take; none: the endpoint's own limit."""

    @property
    def sampling(self) -> Sampling:
        """How every role draws: the endpoint's defaults, and the cap (MC² § C.8.2)."""
        return Sampling(max_tokens=self.output_cap)

    @property
    def grades_unjudged(self) -> bool:
        """Whether an answer that nobody judged has the grade of one which was sent back."""
        # Said by no setting of its own in either profile: texts of earlier logs lack it, and keep their digests.
        return self.unjudged == "C" or (self.unjudged is None and self.patch_grade == "A")

    @property
    def related(self) -> bool:
        """Whether the embedder's own cosines tell what is like a problem, and which lessons are one."""
        return self.relevance_floor == "embedder"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of memory items that may become guidance."""
        return tuple(KINDS[source] for source in self.guidance)

    @property
    def active(self) -> tuple[RoleName, ...]:
        """The roles that take part."""
        return ROLES if self.roles == "RMC" else ROLES[:1]

    @property
    def learns(self) -> bool:
        """Whether batches leave anything behind."""
        # Not by who takes part: a scope does not know it, for its name does not hold it.
        return bool(self.guidance) and self.learn_from != "donor"


# How long a text may be changes nothing of what is learned. Who takes part is left out too, so that
# the Reasoner alone can work with the memory of a full run (D9).
Mc2Settings.learning = frozenset(Mc2Settings.model_fields) - {
    "context_chars",
    "figures",
    "output_cap",
    "patches",
    "roles",
    "unjudged",
}


def batch_size(settings: Mc2Settings, size: int | None) -> int:
    """m: a tenth of the series, at least 10 and at most 100; 10 if its size is unknown.

    Source: MC² eq. (17).
    """
    return settings.batch_size or min(100, max(10, (size or 0) // 10))


def batches(size: int, window: int) -> int:
    """⌈n / m⌉; the last batch may be short. Source: MC² eq. (18)."""
    return -(-size // window)
