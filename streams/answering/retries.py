"""One question that gets no answer: what was spent on it, and whether its endpoint is to blame.

An endpoint that answers nobody is out of reach, and is asked until it is back. One that answers others
and never this question is not: whatever the question does to it, a person has to look. Pure: the time
comes in.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from streams.core.backbone import ModelReply, Silence, Unreachable


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """When to give a question up: after so many attempts, over so long, while others are answered.

    ``alone_s`` holds where the endpoint had nobody else to answer: after so long of its own server
    errors, in a row, one episode's questions are given up, and no other's before it has answered something.
    """

    attempts: int = 15
    seconds: float = 60.0
    alone_s: float = 600.0


@dataclass(slots=True)
class RetryState:
    """A question's failed rounds; a round is a call of the backbone with attempts of its own."""

    began_s: float
    episode: str
    """Whose question it is: one episode is the price of not knowing whether an endpoint is down."""
    rounds: int = 0
    attempts: int = 0
    seconds: float = 0.0
    free: bool = True
    before: int = 0
    """What the endpoint had answered when the first round failed."""
    silence: Silence = "lost"
    """What kind of silence the last attempt met."""
    last: Unreachable | None = field(default=None, repr=False)

    def failed(self, error: Unreachable) -> None:
        """One more round without a reply."""
        tried = error.tried
        # Counted from the first failed round on: what was answered before shows only that it was up
        # then.
        self.before = self.before if self.rounds else tried.answered
        self.rounds += 1
        self.attempts += tried.attempts
        self.seconds += tried.seconds
        self.free = self.free and tried.free
        # A round in which nothing was asked, for others had found the endpoint down, tells nothing
        # of it.
        self.silence = tried.silence if tried.attempts else self.silence
        self.last = error

    @property
    def others(self) -> int:
        """Replies that the endpoint gave to others meanwhile."""
        return 0 if self.last is None else self.last.tried.answered - self.before

    def is_stuck(self, now_s: float, patience: Patience) -> bool:
        """Whether the question is to blame: others were answered, and it never was."""
        worn = self.attempts >= patience.attempts and now_s - self.began_s >= patience.seconds
        # Who says *later* is there and means everybody: to ask again is all that helps, however
        # long it takes.
        return worn and self.silence != "busy" and self.others > 0

    def is_stuck_alone(self, now_s: float, patience: Patience) -> bool:
        """Whether the question may be to blame: the endpoint runs, says that it fails, and has no other."""
        failures = 0 if self.last is None else max(self.attempts, self.last.tried.failures)
        worn = failures >= patience.attempts and now_s - self.began_s >= patience.alone_s
        return worn and self.silence == "error"

    def told(self, now_s: float) -> str:
        """Say what happened, for the person who has to look."""
        whom = f"while {self.others} other calls were answered" if self.others else "and no other"
        what = f"{self.attempts} attempts in {now_s - self.began_s:.0f} s got no reply, {whom}"
        return f"{self.last}: {what}"

    def with_failed(self, reply: ModelReply) -> ModelReply:
        """The reply that came at last, with the attempts before it."""
        if not self.rounds:
            return reply
        return replace(
            reply,
            attempts=reply.attempts + self.attempts,
            seconds=None if reply.seconds is None else reply.seconds + self.seconds,
            free=reply.free and self.free,
        )
