"""A model in this process, through llama.cpp: any GGUF, no key, no server to start."""

from __future__ import annotations

from streams.answering.backbones.llamacpp.backbone import LlamaCpp
from streams.answering.backbones.llamacpp.engine import need_library
from streams.answering.backbones.llamacpp.options import Options

__all__ = ["LlamaCpp", "Options", "need_library"]
