"""Budgets over all partitions: each owner folds its own off the log, and tells the others by its checkpoints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemas.events.episode import Completed
from state.folds.budgets import BudgetsFold
from streams.runtime.kafka.envelope import LogRecord
from streams.runtime.kafka.owned import Owned, decode_said

if TYPE_CHECKING:
    from streams.runtime.kafka.worker import KafkaWorker


@dataclass(frozen=True, slots=True)
class KafkaBudgets:
    """What the partitions that are not ours spent is known from their checkpoints, a quarter of a second late."""

    worker: KafkaWorker

    @classmethod
    def of(cls, worker: KafkaWorker) -> KafkaBudgets:
        """The budgets of a worker, whose world goes by them from now on."""
        made, budgets = cls(worker), worker.world.budgets
        if budgets is not None:
            # What is asked here is counted when it is read back (``completed``), and must not be counted twice.
            budgets.books = False
            budgets.tenant_of = worker.schedule.tenant_of
            budgets.elsewhere = made.folds
            worker.schedule.budgets = budgets
        return made

    def folds(self) -> Iterable[BudgetsFold]:
        """What each partition spent, as far as it is known here."""
        owned = self.worker.owning.partitions
        yield from (each.spent for each in owned.values() if each.live)
        others = BudgetsFold()
        for partition, noted in self.worker.view.checkpoints.items():
            if partition not in owned or not owned[partition].live:
                others.add_rows(noted.get("spent", ()))
        yield others

    def completed(self, owned: Owned, offset: int, said: LogRecord) -> None:
        """A reply that counts was read; what a checkpoint told of already is passed over."""
        if offset < owned.spent_from or said.at_ms is None:
            return
        tenant = owned.tenant_of(said.episode)
        if tenant is not None:
            event = decode_said(said)
            assert isinstance(event, Completed)
            owned.spent.feed(tenant, said.at_ms, event)
            # What is read on the way to our claim is a former owner's, and no reply that we wait for.
            if owned.live and self.worker.world.budgets is not None:
                self.worker.world.budgets.landed(tenant)
