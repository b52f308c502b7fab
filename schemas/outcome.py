"""How an answer, a call of a tool and an episode turned out."""

from __future__ import annotations

from typing import Literal, TypeAlias

# Unknown is no wrong answer: nothing that counts outcomes may add it to either side.
Outcome: TypeAlias = Literal["right", "wrong", "unknown", "withheld"]
Standing: TypeAlias = Literal["right", "wrong", "withheld", "undecided", "not graded"]
"""What is known of an answer: *undecided* where a grader could not tell, *not graded* where nobody tried."""
Heard: TypeAlias = Literal["answered", "passed", "nobody"]
"""What came of a question to a person."""
Found: TypeAlias = Literal["found", "empty", "refused", "error"]
Status: TypeAlias = Literal["answered", "abstained", "exhausted", "failed"]
"""How an episode ended."""
