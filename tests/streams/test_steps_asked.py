"""Which steps a question wants scored stands in the form that a backbone is given with it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from schemas.problem import Limits
from streams.answering.backbones.rehearsal import Rehearsal
from streams.answering.embedders.hashed import HashedEmbedder
from streams.answering.world import World
from streams.core.backbone import ModelReply, ModelRequest
from streams.runtime.embedded.log import SqliteLog
from tests.crash.series import Counted, produced, quick, worked


class Listening(Rehearsal):
    """The simulator; it keeps what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.heard.append(request)
        return await super().complete(request)


class OneWorld(Counted):
    """A world with this simulator alone."""

    def __init__(self, backbone: Listening) -> None:
        super().__init__()
        World.__init__(self, {"*": backbone}, HashedEmbedder())


def test_a_backbone_is_told_which_steps_are_to_be_scored(tmp_path: Path) -> None:
    backbone = Listening()
    produced(
        tmp_path / "log.db",
        "game24:901-901",
        policy="cot2_meta",
        values={},
        limits=Limits(calls=16),
    )
    with closing(quick(SqliteLog(tmp_path / "log.db"))) as log:
        worked(log, world=OneWorld(backbone))
    fields = [field for one in backbone.heard if one.reply for field in one.reply.fields]
    wanted = [field.steps for field in fields if field.ratings]
    assert wanted
    assert all(steps == tuple(range(steps[0], steps[-1] + 1)) for steps in wanted)
    assert not [field.label for field in fields if field.steps and not field.ratings]
