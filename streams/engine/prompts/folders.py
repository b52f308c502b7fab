"""Folders of prompts' files."""

from __future__ import annotations

from pathlib import Path

from streams.engine.prompts.files import SUFFIX, BadPrompt, PromptFile, prompt_in, who

MOST_FILES = 256


def read_all(path: str | Path) -> list[PromptFile]:
    """The prompts of a file, or of all files of a folder. Raises ``BadPrompt``."""
    place = Path(path)
    files = sorted(place.glob(f"*{SUFFIX}")) if place.is_dir() else [place]
    if not files:
        raise BadPrompt(f"{place}: no file here ends in {SUFFIX}")
    if len(files) > MOST_FILES:
        raise BadPrompt(f"{place}: more than {MOST_FILES} files")
    found: dict[str, PromptFile] = {}
    for each in files:
        try:
            text = each.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            what = getattr(error, "strerror", None) or "not UTF-8"
            raise BadPrompt(f"{each}: {what}") from error
        read = prompt_in(text, str(each))
        # Which of the two counted would hang on how the files are called.
        before = found.setdefault(read.prompt.name, read)
        if before is not read:
            raise BadPrompt(f"{each}: {who(read.prompt)}: {before.file} says this prompt already")
    return list(found.values())
