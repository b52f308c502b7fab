"""A model in a process of its own, through OpenVINO: a GGUF, no key, sixteen replies in one batch.

OpenVINO holds Python still while it computes, so it computes elsewhere: ``backbone`` starts ``server`` as a
child, which owns the model and decodes all calls together, step by step, and speaks with it in lines of JSON
(``process``). Closing the child's input ends it, also when we were killed.
"""

from __future__ import annotations

from streams.answering.backbones.openvino.backbone import OpenVino, need_library, unreadable
from streams.answering.backbones.openvino.options import Options

__all__ = ["OpenVino", "Options", "need_library", "unreadable"]
