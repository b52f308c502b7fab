"""A seeded simulator for every model role: for tests, load and demonstrations, never evidence."""

from streams.backbones.rehearsal.backbone import Rehearsal
from streams.backbones.rehearsal.options import Options

__all__ = ["Options", "Rehearsal"]
