"""Every role of ours, found by import; and what all of their prompts say, as one page."""

from __future__ import annotations

from pathlib import Path

from streams.engine.prompts.catalogue import roles

__all__ = ["page", "roles"]
PAGE = Path(__file__).with_name("prompts.txt")


def page() -> str:
    """Each prompt once, by its template's name: instructions, form, and sections."""
    known = {(role.template.name, role.template.text) for role in roles()}
    rule = "=" * 100
    return "\n".join(f"{rule}\n{name}\n{rule}\n{text}\n" for name, text in sorted(known))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
