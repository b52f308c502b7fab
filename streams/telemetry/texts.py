"""Texts of an episode for its spans, where an operator asked for them: what was asked, and what was replied.

No record holds a prompt. Those of a problem's own episode are derived again: its policy runs over its record in a
closed world, over the memory that it pinned. Where that is not possible (another version of the policy, a learning
episode, a set), the replies stand alone.

Source: OpenTelemetry semantic conventions for generative AI, recording content on attributes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from handlers.limits import Ledger
from schemas.events.episode import (
    Completed,
    EpisodeClosed,
    EpisodeOpened,
    ProblemAdmitted,
)
from schemas.events.graph import ToolCalled
from schemas.questions import Complete
from schemas.record import Record
from streams.core.drive import drive, replayed
from streams.core.questions import Questions
from streams.engine.episode import prepare
from streams.engine.learner import Learner
from streams.engine.policies import find, find_recorded
from streams.runtime.embedded.log import SqliteLog
from streams.runtime.embedded.records import LogRecords
from streams.telemetry.spans import Attributes

TEXT_CHARS: Final = 65_536
"""Of one text that is sent; of a longer one the first."""


@dataclass(slots=True)
class Texts:
    """Texts of one log's episodes, by address. It follows what is learned, for prompts hold of it."""

    log: SqliteLog
    learner: Learner = field(init=False)
    read: int = 0

    def __post_init__(self) -> None:
        self.learner = Learner(find, LogRecords(self.log))

    def of(self, records: Sequence[Record]) -> dict[str, Attributes]:
        """The texts of a closed episode as attributes of its spans; those of its own span under ``closed``."""
        prompts = self._prompts({record.address: record for record in records})
        found: dict[str, Attributes] = {}
        for record in records:
            match record.event:
                case Completed() as event:
                    replied = {"gen_ai.output.messages": _replied(event.text, event.finish)}
                    found[record.address] = {**prompts.get(record.address, {}), **replied}
                case ToolCalled() as event:
                    found[record.address] = {"gen_ai.tool.call.result": _cut(event.text)}
                case ProblemAdmitted() as event:
                    asked = _messages([("user", event.problem.problem)])
                    found["closed"] = {**found.get("closed", {}), **asked}
                case EpisodeClosed(answer=str() as answer) as event:
                    replied = {"gen_ai.output.messages": _replied(answer, event.status)}
                    found["closed"] = {**found.get("closed", {}), **replied}
                case _:
                    pass
        return found

    def _prompts(self, records: Mapping[str, Record]) -> dict[str, Attributes]:
        """The prompts of an episode by address; none where they cannot be derived here."""
        # Memory first: prompts hold what was learned before the episode was opened.
        end = self.log.end()
        for record in self.log.records("learning", after=self.read, upto=end):
            self.learner.feed(record.episode, record.address, record.event)
        self.read = end
        events = {address: record.event for address, record in records.items()}
        admitted, opened = events.get("admitted"), events.get("opened")
        if not isinstance(admitted, ProblemAdmitted) or not isinstance(opened, EpisodeOpened):
            return {}
        # The record of a member is a part of its set's, and that of a side begins in its parent's:
        # neither can be run by itself.
        if opened.within is not None or opened.parent is not None:
            return {}
        questions = Questions()
        episode = next(iter(records.values())).episode
        try:
            policy = find_recorded(find, opened.policy, opened.policy_version)
            memories = self.learner.memory(admitted.scope).versions
            work = prepare(episode, admitted, events, policy, memories)
            steps = questions.watch(policy.solve(work.task, work.settings))
            replayed(drive(steps, work.run(None, None), Ledger.of(opened.limits, opened.prices)))
        except Exception:
            # Whatever ends it, a policy's own defect too: up to there its questions are known, and
            # spans are no place to report it.
            pass
        return {
            at: _messages(each.messages())
            for at, each in questions.found.items()
            if isinstance(each, Complete)
        }


def _messages(said: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Messages as the conventions have them: instructions apart from the rest."""
    system = [_part(text) for speaker, text in said if speaker == "system"]
    rest = [
        {"role": speaker, "parts": [_part(text)]} for speaker, text in said if speaker != "system"
    ]
    # Attributes hold plain values alone, so messages stand in them as JSON.
    found = {"gen_ai.input.messages": json.dumps(rest, ensure_ascii=False)}
    if system:
        found["gen_ai.system_instructions"] = json.dumps(system, ensure_ascii=False)
    return found


def _replied(text: str, finish: str) -> str:
    said = [{"role": "assistant", "parts": [_part(text)], "finish_reason": finish}]
    return json.dumps(said, ensure_ascii=False)


def _part(text: str) -> dict[str, str]:
    return {"type": "text", "content": _cut(text)}


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS]}…"
