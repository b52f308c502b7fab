"""Any OpenAI-compatible endpoint as a backbone, through the official client."""

from __future__ import annotations

from streams.answering.backbones.openai.backbone import OpenAIBackbone
from streams.answering.backbones.openai.options import Options

__all__ = ["OpenAIBackbone", "Options"]
