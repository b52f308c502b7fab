r"""One extraction for all policies: the answer that a text marks as its own, word for word.

In this order: ``<answer>…</answer>`` where a text ends with it; the final-answer field; the last
balanced ``\boxed{}``; such a tag elsewhere; a line that begins with ``Answer:`` (or GSM8K's ``####``);
a sentence of the last paragraph that says what the answer is. A field that says "None" says that there
is no answer. A number that is merely mentioned is none either (``mentioned`` finds it for those who
measure otherwise).
What stands in a box, a fence or between marks stays as it is; of a sentence one closing dot goes,
unless an abbreviation ends with it. Every step looks at a bounded part of the text, so that any text
is read in linear time.

Source: MC² section 3 (``Final_answer: ### … ###``, ``\boxed{}``); Tree of Thoughts' Game of 24
prompts (``Answer: … = 24``); GSM8K (``#### N``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

CONTENT_CHARS = 20_000
"""No answer is longer; what is, is not read as one."""
# A reply may hold thousands of marks. Those near its end are what it settled on, and the bound
# keeps a text of nothing but marks linear.
TRIES = 16
"""How many of the last fields or boxes of a text are looked at before the next rule is tried."""
POINTS = 64
"""How many lines of a list are looked at as an answer."""

FAREWELL = re.compile(
    r"(?:i hope|hope (?:this|that)|let me know|feel free|if you (?:have|need|want|would)|"
    r"please let me|happy to|is there anything)\b",
    re.IGNORECASE,
)
"""How a closing courtesy begins, which stands behind all that a reply says."""
# Emphasis that begins with the answer ends with it, and stays until both are taken off.
_OPENING = r"[*_]{0,3}(?:[ \t]|[*_]{1,3}(?=\s|$)){0,6}"
_FINAL = re.compile(
    r"(?:final[ _\-\\]{0,3}answer(?: is)?|最终答案)[ \t*_`\"']{0,6}[:：=]"
    rf"{_OPENING}(?:[`\"'](?=\s){_OPENING})?"
    r"|^[ \t#>*_]{0,8}(?:step[ \t]{1,2}\d{1,2}[ \t]{0,2}[:.)—–-][ \t]{0,2}|\d{1,2}[.)][ \t]{1,2})?"
    r"(?:the )?final[ _]answer[ \t#*_]{0,6}$",
    re.IGNORECASE | re.MULTILINE,
)
_ANSWER = re.compile(
    r"^[ \t*_#>\-]{0,8}(?:(?:the )?answer(?: is)?[ \t*_]{0,4}[:：=]"
    rf"{_OPENING}"
    # Four hashes before words, or a numbered one, with a text below are a heading, and no answer of GSM8K's.
    r"|(?<!#)####(?!#)(?![ \t]{0,4}+(?:\d{1,2}[.)][ \t]|(?![-−+$€£(\\.\d]))[^\n]{0,60}?[^\W\d_]{3}"
    rf"[^\n]{{0,200}}\n\s{{0,20}}(?!{FAREWELL.pattern})\S))",
    re.IGNORECASE | re.MULTILINE,
)
_BOX = re.compile(r"\\(?:boxed|fbox)\s{0,4}\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_FENCED = re.compile(r"(`{3,8})[^\n`]{0,40}\n")
_DISPLAYS = ((r"\[", r"\]"), ("$$", "$$"), (r"\(", r"\)"))
_BEGIN = re.compile(r"\\begin\{(\w{1,20}\*?)\}")
_BETWEEN = re.compile(
    r"[ \t,;&$]{0,8}(?:and|or|\\text\{ ?(?:and|or) ?\})?[ \t,;&$]{0,8}(?:[A-Za-z]\w{0,8}[ \t]{0,2}=[ \t]{0,2})?"
)
_IS = r"answer[ \t]{1,4}(?:is|was|would be|must be|should be)\b"
_SAYS = re.compile(
    rf"\b(?:the|our|its|so,? the)[ \t]{{1,4}}(?:final |correct |right )?(?:{_IS}|answer(?=:))[ \t:*]{{0,6}}",
    re.IGNORECASE,
)
_TOLD = re.compile(rf"\b{_IS}[ :]?", re.IGNORECASE)
REASONS = re.compile(r"(?:,? (?:because|since|as|which|so)\b|(?<=[^.\s][^.\s])\. )", re.IGNORECASE)
"""How the reasons for an answer begin that stand behind it."""
_WORD = re.compile(r"\b(?:true|false|yes|no)\b", re.IGNORECASE)
_OPTION = re.compile(
    r"\(([A-Ja-j])\)|\b(?:option|choice) ([A-J])\b|\b(True|False)\b", re.IGNORECASE
)
_NUMBER = re.compile(
    r"(?<![\w.)\]}])-?\$?\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?%?"
    r"|(?:(?<![\w.)\]}])[-−])?(?<![\w.])(?:\d+(?:\.\d+)?|\.\d+)(?:/\d+|e[-+]?\d+)?%?"
)
_OPENS, _CLOSES = re.compile(r"<answer>", re.IGNORECASE), re.compile(r"</answer>", re.IGNORECASE)
_ABSENT = re.compile(
    r"[\s*_`\"'(\[]{0,8}(?:none|n/a|null|nil|not applicable)[\s*_`\"')\].]{0,8}", re.IGNORECASE
)
"""How a model says that it has no answer, or that none is wanted."""
_LEAD = re.compile(
    r"^(?:(?:so|therefore|thus|hence),? )?(?:the|our) (?:final |correct |right )?answer is:?\s{1,4}",
    re.IGNORECASE,
)
_ANNOUNCES = re.compile(r"(?:[:：=]|\b(?:is|are|was|equals))[ \t*_]{0,6}$")
"""How a line ends whose answer stands below it."""
_LISTED = re.compile(r"[-*•][ \t]|\d{1,3}[.)][ \t]")
_SENTENCE = re.compile(
    r"^[^\\$:=]{1,200}?\b(?:is|are|was|equals)[ \t]{0,4}"
    r"(?::[ \t]{1,4}|(?=\\\(.{1,400}\\\)\.?$|\$[^$]{1,400}\$\.?$))(?=\S)"
)
"""A sentence up to what it gives: something behind a colon, or a formula that ends it."""
_SIGNS = frozenset("∅ ∞ -∞ −∞ +∞ < > ≤ ≥ ≠ = ± × ÷".split())  # noqa: SIM905 - a table of signs
"""Signs that may be all that an answer says."""
_HOPE = re.compile(r"\. ?I hope it is correct\.?$", re.IGNORECASE)
_WRAPS = (
    *(("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]")),
    *(("***", "***"), ("**", "**"), ("*", "*"), ("_", "_")),
    *(("<answer>", "</answer>"), ("```", "```"), ("`", "`")),
)
_BOLD = re.compile(r"^\*\*(?=\S)([^*\n]{1,200})(?<=\S)\*\*(?=[ \t])")
"""What is bold before words that are not, such as a number before its unit."""
_CLOSED = re.compile(r"(?<=[^\s>])\s?</(\w{1,20})>$")
"""A tag that closes behind an answer what began before it."""
_CHEERS = re.compile(
    "[\\s\ufe0f\u200d\u2611\u2705\u2713\u2714\u2728\u2b50\U0001f300-\U0001faff]{1,12}$"
)
"""Ticks and faces behind an answer."""
_TABLE = re.compile(
    r"\|[^\n]{1,400}\|[ \t]{0,4}\n\|[ \t:|-]{3,400}\|[ \t]{0,4}\n((?:\|[^\n]{1,400}\|[ \t]{0,4}(?:\n|$)){1,64})"
)
"""A table that begins here, and the rows below its head."""
_NAME = re.compile(r"([A-Za-z]\w{0,8})[ \t]{0,2}=[ \t$]{0,2}$")
"""What a box is the value of."""
_KEY = re.compile(r"(?<=[\"'])(?:the[ _]?|final[ _]?)?answer[\"']\s{0,4}:\s{0,4}", re.IGNORECASE)
"""An answer's name in an object of JSON, or of Python."""
_KEYED = re.compile(
    r"(?:\"((?:[^\"\\]|\\.)*+)\"|'((?:[^'\\]|\\.)*+)'|([-+]?[.\d][-+.\deE]{0,40}))\s{0,40}"
    r"(?:\}|,\s{0,40}[\"'][\w ]{1,40}[\"']\s{0,4}:)(?P<ends>[^{}]{0,400}\}?[\s`*.]{0,40}\Z)?",
    re.DOTALL,
)
"""A value in an object, up to the next name or the object's end, and whether the text ends with it."""
_OBJECT = re.compile(
    rf"[\s`]{{0,8}}(?:json\s)?\s{{0,4}}\{{\s{{0,40}}[\"']{_KEY.pattern}", re.IGNORECASE
)
_ESCAPED = re.compile(r"\\([\"'\\/])")
_BLOCK = re.compile(r"[|>][-+]?[ \t]{0,4}\n")
"""How YAML announces that a value stands below."""
_CORRECTED = re.compile(
    r"^[ \t>*_#]{0,8}(?:(?:correction|erratum)\b[ \t*_]{0,4}[:—–-]"
    r"|(?:corrected|revised)[ \t]{1,2}(?:answer|result|value)\b)",
    re.IGNORECASE | re.MULTILINE,
)
_POINT = re.compile(r"(?:[-*•>][ \t]{1,4}|\d{1,3}[.)][ \t]{1,4})")
_PART = re.compile(
    r"[ \t*_]{0,8}(?:(?P<mark>(?:part[ \t]{1,2})?\(?(?:[a-h]|i{1,3}|iv|v)[.):][.:)]?)"
    r"|(?P<name>[a-z]\w{0,8})[ \t]{0,4}=)",
    re.IGNORECASE,
)
"""How a line begins that gives one part of an answer."""
_SHORT = re.compile(
    r"(?:\b[A-Za-z]|\b(?:a\.m|p\.m|etc|vs|cf|approx|Inc|Ltd|Co|Corp|Jr|Sr|St|Dr|Mr|Mrs|Ms|Prof|No|Bros)|\.)\.$"
)
"""What ends with a dot of its own: an initial, an abbreviation, an ellipsis."""


def extract(text: str) -> str | None:
    """The answer that ``text`` marks as its own, or ``None``: nothing is guessed."""
    # A tag at the very end closes a reply whose other marks may be quotations from its own work;
    # elsewhere a tag is weaker than a field or a box, since prompts are quoted with their tags.
    tail = text[-40:].rstrip(" \t\r\n`*.").lower()
    objects = map(_keyed, _behind(_KEY, text)) if tail.endswith("}") else ()
    marked = (
        (_tagged(text) if tail.endswith("</answer>") else None)
        or next((said for said, ends in objects if said and ends), None)
        or next(filter(None, map(labelled, _behind(_FINAL, text))), None)
        or boxed(text)
        or _tagged(text)
        or next(filter(None, map(stated, _behind(_ANSWER, text))), None)
        or next((said for said, _ in map(_keyed, _behind(_KEY, text)) if said), None)
    )
    if marked is not None:
        return marked
    return _said(text)


def mentioned(text: str) -> str | None:
    """As ``extract``; where nothing is marked, the last number or option of the last paragraph."""
    marked = extract(text)
    if marked is not None:
        return marked
    segment = _last_segment(text)
    says = [found.end() for found in _TOLD.finditer(segment)]
    if says:
        clause = segment[says[-1] :].partition("\n")[0]
        first = min(_mentions(clause, _OPTION, _NUMBER, _WORD), default=None)
        if first is not None:
            return first[1]
    last = max(_mentions(segment, _OPTION, _NUMBER), default=None)
    return last[1] if last else None


def boxed(text: str) -> str | None:
    r"""What stands in the last balanced ``\boxed{}``, braces inside it included."""
    for rest in _behind(_BOX, text):
        end = _closing(rest, 0)
        inner = None if end is None else _verbatim(rest[:end])
        if inner is not None:
            return inner
    return None


def stated(text: str) -> str | None:
    """The answer at the beginning of ``text``, which is what stands behind an answer's label."""
    rest = text[:CONTENT_CHARS].lstrip()
    points = _points(rest) if "\n" in text[: len(text) - len(text.lstrip())] else []
    if points:
        return ", ".join(filter(None, map(_line, points))) or None
    block = _BLOCK.match(rest)
    rest = rest if block is None else rest[block.end() :].lstrip()
    if rest.startswith("###"):
        inner, closed, _ = rest[3:].partition("###")
        return _boxes(inner) or _verbatim(inner) if closed else stated(rest.lstrip("# "))
    shown = _fence(rest) or _display(rest) or tabled(rest)
    if shown is not None:
        return shown
    # "The total number of eggs is:" announces what stands below it, if that is one thing alone. A
    # list below is more than one, and a box in the line itself is the answer already.
    heads, _, below = rest.partition("\n")
    below = below.strip()
    if below and not _BOX.search(heads) and _ANNOUNCES.search(heads[-80:]):
        shown = _fence(below) or _display(below)
        if shown is not None:
            return boxed(below) or shown
        if "\n" not in below and not _LISTED.match(below):
            return _line(below) or _line(rest)
    return _line(rest)


def labelled(text: str) -> str | None:
    """What ``text`` states behind an answer's label; where that is a heading over plain words, what is boxed below."""
    # "None" on the label's own line is meant: what follows explains why there is no answer.
    if absent(text[:CONTENT_CHARS].lstrip().partition("\n")[0]):
        return None
    opens = _OBJECT.match(text)
    keyed, _ = _keyed(text[opens.end() if opens else 0 : CONTENT_CHARS])
    if keyed is not None:
        return keyed
    # Behind a correction stands what counts, if it is marked.
    again = [found.end() for found in _CORRECTED.finditer(text, 0, CONTENT_CHARS)][-1:]
    rest = text[again[0] : CONTENT_CHARS] if again else ""
    corrected = boxed(rest) or _said(rest)
    if corrected is not None:
        return corrected
    found, (heads, _, below) = stated(text), text[:CONTENT_CHARS].partition("\n")
    if (
        found is None
        or heads.strip(" \t*_`#")
        or _fence(below.lstrip())
        or _display(below.lstrip())
    ):
        return found
    # Where each of several parts has its box, the last one would be a part alone.
    points = _points(below.lstrip())
    is_all = len(points) > 1 and all(map(_BOX.search, points))
    return found if is_all else boxed(below) or found


def whole(text: str) -> str | None:
    """The answer in a text that is nothing but the answer, such as a string of a JSON object."""
    rest = text[:CONTENT_CHARS].strip()
    if absent(rest):
        return None
    return _boxes(rest) or _fence(rest) or _display(rest) or _clean(rest)


def absent(text: str) -> bool:
    """Whether a text says that there is no answer."""
    return _ABSENT.fullmatch(text) is not None


def _said(text: str) -> str | None:
    """The answer that a sentence of the last paragraph says; earlier ones tell what the answer would be if."""
    said = _behind(_SAYS, _last_segment(text))
    clauses = (REASONS.split(each, maxsplit=1)[0] for each in said)
    return next(filter(None, map(stated, clauses)), None)


def _keyed(text: str) -> tuple[str | None, bool]:
    """The answer that stands behind its name in an object of JSON, and whether the text ends with that object."""
    found = _KEYED.match(text)
    if found is None:
        return None, False
    said = _ESCAPED.sub(r"\1", next(filter(None, found.groups()[:3]), ""))
    return whole(said), found["ends"] is not None


def _points(text: str) -> list[str]:
    """The points of a list that begins here, or the parts of an answer, a line each."""
    lines = [line.strip() for line in text.split("\n", POINTS)[:POINTS]]
    run = list(takewhile(lambda line: not line or _POINT.match(line), lines))
    points = [line[mark.end() :] for line in run if (mark := _POINT.match(line)) is not None]
    if points:
        return points
    # Lines with a mark or a name of their own, one below the other, are parts of one answer.
    parts = [found for found in map(_PART.match, lines) if found is not None]
    named = [part["mark"] or part["name"] for part in parts]
    in_a_row = all(map(_PART.match, lines[: len(parts)]))
    return lines[: len(parts)] if in_a_row and len({*named}) == len(named) > 1 else []


def _tagged(text: str) -> str | None:
    """What stands in the last complete ``<answer>`` tag."""
    # The last closing mark counts and the last opening one before it: a reply that quotes the
    # prompt's empty tag first is still read.
    closes = [found.start() for found in _CLOSES.finditer(text)][-1:]
    opens = [found.end() for found in _OPENS.finditer(text, 0, closes[0])][-1:] if closes else []
    inner = text[opens[0] : closes[0]] if opens else ""
    return next(filter(None, map(labelled, _behind(_FINAL, inner))), None) or whole(inner)


def _behind(mark: re.Pattern[str], text: str) -> Iterator[str]:
    """What stands behind the last marks of a text, the last one first."""
    # A reply may end with the prompt's empty field; so whoever reads goes back to an earlier mark
    # where nothing readable stands behind the last one.
    for end in reversed([found.end() for found in mark.finditer(text)][-TRIES:]):
        yield text[end : end + CONTENT_CHARS]


def _fence(text: str) -> str | None:
    """A fenced block that begins here, whole, without its marks."""
    opens = _FENCED.match(text)
    if opens is None:
        return None
    inner, closed, _ = text[opens.end() :].partition(f"\n{opens[1]}")
    # A fence that is not closed was cut off, and half a program is no answer.
    return inner.strip("\n") or None if closed else None


def _display(text: str) -> str | None:
    """A formula that begins here, over as many lines as it has, or what is boxed in it."""
    for opens, closes in _DISPLAYS:
        if text.startswith(opens):
            inner, closed, rest = text[len(opens) :].partition(closes)
            if closed and ("\n" in inner or not rest.partition("\n")[0].strip(" .*")):
                return _boxes(inner) or _clean(inner)
    return None


def tabled(text: str) -> str | None:
    """A table that begins here: whole, or of a single column what stands below its head."""
    table = _TABLE.match(text)
    if table is None:
        return None
    cells = [row.strip().strip("|").strip() for row in table[1].splitlines()]
    column = not any("|" in cell for cell in cells)
    return _verbatim(", ".join(cells) if column else table[0])


def _line(text: str) -> str | None:
    """The first line that says anything; a box or an environment that it opens is read to its end."""
    line = text.partition("\n")[0]
    box = _BOX.search(line)
    if box is not None:
        return _boxes(text, box.start())
    begun = _BEGIN.search(line)
    if begun is not None:
        closes = f"\\end{{{begun[1]}}}"
        head, closed, tail = text.partition(closes)
        if closed:
            return _clean(head + closes + tail.partition("\n")[0])
    return _clean(line.partition("###")[0])


def _boxes(text: str, start: int = 0) -> str | None:
    """What is boxed from ``start`` on: one box, or several that stand side by side."""
    found: list[str] = []
    names: list[str] = []
    at = start
    for box in _BOX.finditer(text, start):
        # A box within a box that was read already.
        if box.start() < at:
            continue
        end = _closing(text, box.end())
        if end is None or (found and not _BETWEEN.fullmatch(text, at, box.start())):
            break
        inner = _verbatim(text[box.end() : end])
        name = _NAME.search(text, max(0, box.start() - 16), box.start())
        names.append(name[1] if name else "")
        found.extend([] if inner is None else [inner])
        at = end + 1
    # x and y are two values; x that is 1 or 2 has two.
    if all(names) and len({*names}) == len(names) == len(found) > 1:
        found = [f"{name} = {value}" for name, value in zip(names, found, strict=True)]
    return ", ".join(found) or None


def _closing(text: str, start: int) -> int | None:
    """Where the brace stands that closes the one before ``start``."""
    depth = 1
    for brace in _BRACE.finditer(text, start, start + CONTENT_CHARS):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return brace.start()
    return None


def _verbatim(text: str) -> str | None:
    """What stands between marks, if it says anything."""
    said = text.strip()
    # Signs alone, such as "..." or "***", are what is left of an empty field.
    return said if any(map(str.isalnum, said)) or said.strip("$ ") in _SIGNS else None


def _clean(text: str) -> str | None:
    """A line without the signs that typeset an answer; ``None`` when nothing is left."""
    text = _CHEERS.sub("", _HOPE.sub("", text.strip().lstrip("#").strip()))
    tag = _CLOSED.search(text[-40:])
    text = text[: -len(tag[0])] if tag is not None and f"<{tag[1]}" not in text else text
    # A bold sign that closes what opened before the answer, as in "the answer is **42**."
    text = re.sub(r"^\*\*(?!.*\*\*)|\*\*(?=\.?$)", "", text) if text.count("**") % 2 else text
    text = _BOLD.sub(r"\1", text)
    text = _SENTENCE.sub("", _LEAD.sub("", text))
    for opens, closes in _WRAPS:
        inner = text.removesuffix(".") if text.endswith(closes + ".") else text
        core = inner.removeprefix(opens).removesuffix(closes).strip()
        # "$a$ and $b$" begins and ends with a mark and is no one formula: there the marks stay.
        if len(inner) - len(core) >= len(opens + closes) and inner.startswith(opens):
            text = text if opens in core else core
    # The dot that ends a sentence is no part of the answer; that of an abbreviation is.
    is_sentence = text.endswith((".", "。")) and not _SHORT.search(text[-12:])
    return _verbatim(text[:-1] if is_sentence else text)


# ── Without a marked answer ──────────────────────────────────────────────────────────────────


def _last_segment(text: str) -> str:
    """The last paragraph that says anything, at most ``CONTENT_CHARS`` of it."""
    lines: list[str] = []
    for line in reversed(text[-CONTENT_CHARS:].splitlines()):
        if lines and not line.strip():
            # What only ends a reply says nothing: a courtesy, or a rule.
            if FAREWELL.match(lines[-1].strip()) or not any(map(str.isalnum, "".join(lines))):
                lines = []
                continue
            break
        if line.strip():
            lines.append(line)
    return "\n".join(reversed(lines))


def _mentions(text: str, *patterns: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    for pattern in patterns:
        for found in pattern.finditer(text):
            yield found.start(), next(filter(None, found.groups()), found[0])
