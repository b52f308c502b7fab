"""A scope: one memory with its policy and settings, its open window, and the episodes that wait to be learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from handlers.answers.grade import CHECKERS
from handlers.learning.rules import RULES
from handlers.policies.base import Policy
from schemas.events.codec import BadEvent, as_written
from schemas.events.learning import BatchClosed, Reflected
from schemas.identity import canonical
from schemas.problem import Profile
from schemas.settings import BACKBONE, PROMPTS, BadSetting, PolicySettings
from state.folds.memory import MemoryFold
from state.folds.windows import ScopeWindow
from streams.core.defects import describe
from streams.engine.policies import NoPolicy

T = TypeVar("T")


@dataclass(slots=True)
class Scope:
    """A scope with its open window, its memory versions, and the episodes that wait to be learned from."""

    id: str
    policy: Policy[Any]
    settings: PolicySettings
    window: ScopeWindow
    memory: MemoryFold
    constants: dict[str, Any]
    """Of its policy's learning rule."""
    profile: Profile = "service"
    warmed: bool = False
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Texts that measures need embedded, as they stood when the batch closed, by learning episode."""
    settings_text: str = field(init=False)
    """Its settings as the text that is kept once per log."""

    def __post_init__(self) -> None:
        self.settings_text = settings_text(self.settings)

    @property
    def unfinished(self) -> BatchClosed | None:
        """A batch that was closed but has no memory version, or revision of one, yet."""
        new = self.batches.get(self.window.versioned + 1)
        if new is not None:
            return new
        # Else one that was closed again, as ``settle_owed`` says.
        forgetting = self.memory.forgetting
        number = forgetting.owed[0] if forgetting.owed else self.memory.latest.number
        again = self.batches.get(number)
        # One that was overtaken is closed once more instead: nobody could go on with what was said of it.
        if again is None or again.revision is None or number in forgetting.overtaken:
            return None
        # Somebody may have chosen yet another embedder meanwhile; then nobody needs
        # these vectors any more.
        return again if again.embedder in (None, self.memory.changing) else None

    @property
    def half_made(self) -> BatchClosed | None:
        """A batch that was closed again, whose version does not stand yet: it knows no outcome of after its closing.

        Its version would be taken for the one that a grade given anew asks for, and nobody would close it once more.
        """
        closed, forgetting = self.unfinished, self.memory.forgetting
        if closed is None and forgetting.owed:
            closed = self.batches.get(forgetting.owed[0])  # somebody may still be learning from it
        again = closed is not None and closed.revision is not None and closed.embedder is None
        return closed if again else None

    def settle_owed(self) -> None:
        """Let the window know which version is to be closed again next, and how.

        Without a problem that was forgotten, or with vectors of another embedder.
        """
        window, owed = self.window, self.memory.forgetting.owed
        window.owed = self.owes
        # One batch at a time, and in order: a revision builds on the version before it, which
        # may itself be owed.
        if not self.owes or window.versioned != window.closed or self.unfinished is not None:
            return
        # What was forgotten goes first. Its texts must not be embedded anew on the way.
        if owed:
            window.again = self.memory.closing_without(owed[0])
        else:
            window.again = self.memory.closed_anew()

    @property
    def owes(self) -> bool:
        """Whether a version has to be closed again."""
        return bool(self.memory.forgetting.owed or self.memory.changing)

    @property
    def reflected(self) -> dict[str, Reflected]:
        """Reflections that wait to be learned from."""
        return self.memory.reflected

    @property
    def batches(self) -> dict[int, BatchClosed]:
        """Batches that were closed but have no memory version yet."""
        return self.memory.batches

    @property
    def warm_source(self) -> str | None:
        """The scope that this one still has to start from, if any."""
        return None if self.warmed else self.policy.warm_source(self.settings)

    def live_from(self, batch: int) -> int:
        """The first batch whose lessons are live after this one."""
        span = self.policy.live_batches(self.settings)
        return 1 if span is None else max(1, batch - span + 1)


@dataclass(slots=True)
class Lost:
    """A scope whose policy is missing or refuses it, with the reason, and with the memory that it still has.

    Nothing is learned or begun in it. Whoever folds the log again once the policy is back continues with it.
    """

    why: str
    memory: MemoryFold


def scope_made(
    policy: Policy[Any], memory: MemoryFold, profile: Profile, values: dict[str, Any]
) -> Scope:
    """A scope at its beginning. Raises ``NoPolicy`` where the policy says what no scope can go by."""
    # Only what tells memories apart. Other settings differ between the problems of one scope, and
    # none of them may decide for all.
    learning = {k: v for k, v in values.items() if k in policy.settings.apart()}
    try:
        settings = policy.settings.resolve(profile, learning)
    except BadSetting as error:
        raise NoPolicy(f"{policy.reference}: {error}") from error
    policy = policy.under(settings)
    window = ScopeWindow(stream_window_of(policy, settings), frozenset(CHECKERS))
    constants = constants_of(policy, settings)
    # Asked once for what is asked again while all scopes are at work: a policy that errs
    # there would then take the learner of everybody else along.
    _said(policy, "live_batches", lambda: policy.live_batches(settings))
    _said(policy, "warm_source", lambda: policy.warm_source(settings))
    together = policy.together
    if together is not None:
        _said(policy, "together.size", lambda: together.size(settings))
    return Scope(memory.scope, policy, settings, window, memory, constants, profile)


def stream_window_of(policy: Policy[Any], settings: PolicySettings) -> int:
    """How many members a batch outside of series has. Raises ``NoPolicy``."""
    # Its windows teach nothing, but cases and calibrators close with them.
    if policy.learns == "none":
        return 10
    size = _said(policy, "window", lambda: policy.window(settings, None))
    if type(size) is not int or size < 1:
        raise NoPolicy(f"{policy.reference}: window: {size!r} is no number of members")
    return size


def constants_of(policy: Policy[Any], settings: PolicySettings) -> dict[str, Any]:
    """The constants of its learning rule, as a record holds them. Raises ``NoPolicy`` naming one that none can."""
    if policy.rule is not None and policy.rule not in RULES:
        raise NoPolicy(f"{policy.reference}: rule: there is none called {policy.rule!r}")
    said = _said(policy, "rule_constants", lambda: dict(policy.rule_constants(settings)))
    found: dict[str, Any] = {}
    for name, value in said.items():
        # One by one, so that the error can name the constant; and through a whole record,
        # since only the codec knows what it can hold. A batch that cannot be closed would stop
        # the scope for good.
        try:
            closed = BatchClosed(
                scope="",
                batch=1,
                members=(),
                outcomes=(),
                previous=0,
                policy=policy.name,
                policy_version=policy.version,
                settings="",
                constants={name: value},
                seed=0,
            )
            found |= as_written(closed).constants or {}
        except (BadEvent, TypeError, ValueError, RecursionError) as error:
            what = str(error).removeprefix("batch.closed: constants: ")
            raise NoPolicy(f"{policy.reference}: rule_constants: {name}: {what}") from error
    return found


def _said(policy: Policy[Any], what: str, ask: Callable[[], T]) -> T:
    """Ask a policy about itself. Raises ``NoPolicy`` where it has a defect, so that the asker does not break."""
    try:
        return ask()
    except Exception as error:
        raise NoPolicy(f"{policy.reference}: {what}: {describe(error)}") from error


def settings_text(settings: PolicySettings) -> str:
    """Resolved settings as the text that is kept once per log; those that came later only where they are set."""
    said = settings.model_dump(mode="json")
    # Texts of earlier logs lack them, and their digests must stay the same.
    fields = type(settings).model_fields
    for name in (PROMPTS, BACKBONE, *settings.later):
        if getattr(settings, name) == fields[name].default:
            del said[name]
    return canonical(said).decode()
