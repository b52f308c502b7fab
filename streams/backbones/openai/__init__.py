"""Any OpenAI-compatible endpoint as a backbone, through the official client."""

from __future__ import annotations

from streams.backbones.openai.backbone import OpenAIBackbone
from streams.backbones.openai.options import Options

__all__ = ["OpenAIBackbone", "Options"]
