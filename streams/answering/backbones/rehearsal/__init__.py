"""A seeded simulator for every model role: for tests, load and demonstrations, never evidence."""

# Theory of operation. prompts takes the prompt apart, and whatever the simulator knows it knows
# from there: it has no role and no policy by name, so that a prompt which forgets a field gets a
# reply without it. A ground (puzzles, stories, passages) can really solve a problem and really fail
# at it. turn holds what one call may use; the faculties (solve, assess, choose, carry, advance,
# learn, write) fill the fields, reply puts them together, and noise spoils some.
#
# Every number is drawn by name from a hash of the whole call. Nothing is kept between calls, or a
# worker that starts again would meet another model, and no log of a test would come out twice the
# same.

from streams.answering.backbones.rehearsal.backbone import Rehearsal
from streams.answering.backbones.rehearsal.options import Options

__all__ = ["Options", "Rehearsal"]
