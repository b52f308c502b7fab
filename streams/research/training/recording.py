"""Replies of a log as a recording, from which any policy can be answered again: ``recorded:FILE``.

What was asked stands in no record, and is derived again. So another policy, or the same one under other settings, can
be tried on replies that were paid for once, as far as it asks what was asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.events.episode import Completed
from schemas.questions import Complete
from streams.answering.backbones.recorded import key_of, line
from streams.core.backbone import ModelReply, ModelRequest
from streams.engine.episode import Work
from streams.engine.policies import find
from streams.research.training.groups import calls_of, work_of
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.queries import episodes
from streams.runtime.embedded.records import learned

_NUMBERS = (
    *("attempts", "prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens"),
    *("cost", "seconds", "logprob"),
)


class Twice(ValueError):
    """Two episodes had different replies to the same prompt, and nobody could say which is meant."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording, a line for each prompt and draw, with what is not in it."""

    lines: list[str]
    unclear: int
    """Prompts to which one episode had two different replies: none of them is in it."""
    left_out: int
    """Episodes that this build cannot run again, so that nobody knows what they asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Only:
    """The episodes that are meant; none of it means all."""

    policy: str | None = None
    seed: int | None = None
    backbone: str | None = None
    """The name that their problems chose it by, or a part of what their records call it, as ``gpt-4o-mini``."""

    def means(self, work: Work) -> bool:
        """Whether an episode is one of them."""
        problem, opened = work.admitted.problem, work.opened
        return (
            self.policy in (None, opened.policy)
            and self.seed in (None, problem.seed)
            and (
                self.backbone in (None, work.settings.backbone)
                or (self.backbone or "") in opened.backbones
            )
        )


def recording(log: SqliteLog, only: Only = Only()) -> Recording:
    """The replies of a log's closed episodes, of those that are asked for.

    Raises ``Twice``, and nobody has to guess, where two episodes had different replies to one prompt.
    """
    learner, left_out = learned(log, find), 0
    known: dict[tuple[str, int], tuple[str, Completed, str]] = {}
    unclear = set[tuple[str, int]]()
    for episode in episodes.closed(log):
        work = work_of(log, learner, episode)
        if work is None:
            left_out += 1
            continue
        if not only.means(work):
            continue
        for _, question, said in calls_of(work):
            at = key_of(question.messages()), question.draw
            first, reply, _ = known.setdefault(
                at, (episode, said, recorded(question, said, work.opened.seed))
            )
            if reply.text == said.text:
                continue
            if first != episode:
                raise Twice(f"{first} and {episode} had different replies to the same prompt")
            unclear.add(at)
    lines = [told for at, (_, _, told) in known.items() if at not in unclear]
    return Recording(lines, len(unclear), left_out)


def recorded(question: Complete, said: Completed, seed: int) -> str:
    """A call as a line of a recording."""
    request = ModelRequest(question.messages(), question.sampling, seed, question.draw)
    numbers = {name: getattr(said, name) for name in _NUMBERS}
    known = {name: number for name, number in numbers.items() if number is not None}
    return line(request, ModelReply(text=said.text, finish=said.finish, model=said.model, **known))
