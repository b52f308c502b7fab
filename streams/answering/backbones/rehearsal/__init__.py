"""A seeded simulator for every model role: for tests, load and demonstrations, never evidence."""

from streams.answering.backbones.rehearsal.backbone import Rehearsal
from streams.answering.backbones.rehearsal.options import Options

__all__ = ["Options", "Rehearsal"]
