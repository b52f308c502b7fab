r"""An answer in plain text, for whoever typesets nothing: ``\frac{1}{2}`` is ``1/2``, ``50 \text{ km/h}`` ``50 km/h``.

A text without LaTeX stays as it is, code above all; commands that are not known here stay in theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

import orjson

PLAIN_CHARS = 20_000
"""Longer answers are handed on as they are."""

_SIGNS: Mapping[str, str] = {
    "times": "×", "cdot": "·", "div": "÷", "pm": "±", "mp": "∓", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥",
    "ne": "≠", "neq": "≠", "approx": "≈", "equiv": "≡", "infty": "∞", "to": "→", "rightarrow": "→", "cup": "∪",
    "cap": "∩", "in": "∈", "notin": "∉", "subset": "⊂", "emptyset": "∅", "varnothing": "∅", "ldots": "…",
    "cdots": "…", "dots": "…", "circ": "°", "degree": "°", "angle": "∠", "land": "∧", "lor": "∨", "neg": "¬",
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "theta": "θ", "lambda": "λ", "mu": "μ",
    "nu": "ν", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "omega": "ω", "Delta": "Δ",
    "Gamma": "Γ", "Omega": "Ω", "Sigma": "Σ", "Phi": "Φ", "pounds": "£", "euro": "€", "sin": "sin", "cos": "cos",
    "tan": "tan", "log": "log", "ln": "ln", "exp": "exp", "max": "max", "min": "min", "lbrace": "\ue000",
    "rbrace": "\ue001", "quad": " ", "qquad": " ", "left": "", "right": "", "displaystyle": "", "textstyle": "",
    "limits": "",
}  # fmt: skip
_WRAPS = (
    r"(?:text(?:bf|rm|it|sf|tt|normal)?|mbox|mathrm|mathbf|mathit|mathbb|operatorname|boxed|hbox)"
)
_MARKED = re.compile(
    rf"\\(?:{_WRAPS}|begin\{{[pbvBV]?matrix\}}|[$%{{}}!]|[()\[\]]|(?:{'|'.join(_SIGNS)}|[dt]?frac|sqrt)(?![A-Za-z]))|\{{,\}}"
)
_WHOLE = re.compile(r"\$\$?([^$]{1,4000})\$\$?")
_SPACE = re.compile(r"\\[,;: ]|~")
_COMMAND = re.compile(r"\\([A-Za-z]{1,20})")
_WRAPPED = re.compile(rf"\\{_WRAPS}\s{{0,4}}\{{([^{{}}]{{0,2000}})\}}")
_FRAC = re.compile(r"(?:(\d)\s{0,4})?\\[dt]?frac\s{0,4}\{([^{}]{0,400})\}\s{0,4}\{([^{}]{0,400})\}")
_SHORT_FRAC = re.compile(r"(?:(\d)\s{0,4})?\\[dt]?frac\s{0,4}(\d)\s{0,4}(\d)")
_ROOT = re.compile(r"\\sqrt\s{0,4}(?:\[([^\[\]{}]{1,20})\])?\s{0,4}(?:\{([^{}]{0,400})\}|(\w))")
_SCRIPT = re.compile(r"([\^_])\s{0,4}\{([^{}]{0,400})\}")
_DEGREES = re.compile(r"\^\s{0,4}(?:\{\s{0,4}\\circ\s{0,4}\}|\\circ(?![A-Za-z]))")
_MATRIX = re.compile(r"\\begin\{([pbvBV]?matrix)\}([^\\{}]{0,4000})\\end\{\1\}")
_SIMPLE = re.compile(r"-?√?(?:\d+(?:\.\d+)?|\w|\d+\w)")
_DEPTH = 6
# Signs of Unicode's private area stand for braces, dollars and rows that the answer itself
# contains, while those of LaTeX are taken away; no reply that is recorded holds them by chance.
_ROW = "\ue003"


def plain_text(answer: str) -> str:
    """The answer in plain text."""
    if len(answer) > PLAIN_CHARS:
        return answer
    # A single pair of dollars around everything is typesetting; "$5 and $6" is money.
    whole = _WHOLE.fullmatch(answer.strip())
    text = whole[1] if whole else answer
    if _MARKED.search(text) is None:
        return text.strip() if whole else answer
    text = text.replace(r"\\", _ROW).replace(r"\!", "")
    text = text.replace(r"\$", "\ue002").replace(r"\{", "\ue000").replace(r"\}", "\ue001")
    text = re.sub(r"\\([%&#_])", r"\1", text.replace("{,}", ",").replace("$", ""))
    text = _DEGREES.sub("°", _SPACE.sub(" ", re.sub(r"\\[()\[\]]", "", text)))
    text = _COMMAND.sub(lambda found: _SIGNS.get(found[1], found[0]), text)
    # One level of braces a pass, from within, so that no pattern has to nest.
    for _ in range(_DEPTH):
        before = text
        text = _WRAPPED.sub(r"\1", text)
        text = _ROOT.sub(
            lambda root: f"{f'{root[1]}-' if root[1] else ''}√{_closed(root[2] or root[3] or '')}",
            text,
        )
        text = _FRAC.sub(_ratio, _SHORT_FRAC.sub(_ratio, text))
        text = _SCRIPT.sub(lambda found: found[1] + _closed(found[2]), text)
        text = _MATRIX.sub(_rows, text)
        if text == before:
            break
    if _COMMAND.search(text) is None:  # what is not known here may want its braces
        text = text.replace("{", "").replace("}", "")
    for mark, sign in (("\ue000", "{"), ("\ue001", "}"), ("\ue002", "$"), (_ROW, r"\\")):
        text = text.replace(mark, sign)
    return " ".join(text.split())


def shown(answer: str) -> str:
    """The answer in plain text, for people; of a JSON object or array each letter, for its backslashes are its own."""
    if answer.startswith(("{", "[")):
        with suppress(ValueError):
            orjson.loads(answer)
            return answer
    return plain_text(answer)


def _ratio(found: re.Match[str]) -> str:
    """``1/2``; behind a digit it is the fraction of a mixed number."""
    whole = "" if found[1] is None else f"{found[1]} "
    return f"{whole}{_closed(found[2])}/{_closed(found[3])}"


def _closed(text: str) -> str:
    """In brackets, where its parts would mingle with what stands around it."""
    text = text.strip()
    return text if _SIMPLE.fullmatch(text) or not text else f"({text})"


def _rows(found: re.Match[str]) -> str:
    rows = [row for row in found[2].split(_ROW) if row.strip()]
    told = (", ".join(cell.strip() for cell in row.split("&")) for row in rows)
    return f"[{', '.join(f'[{row}]' for row in told)}]"
