"""How an answer is found in a text and compared with what is right."""

# Theory of operation.
#
# ``extract`` finds the text that a reply marks as its answer; roles ask it where a field or a free
# reply is read. ``value.read`` says what such a text is (``normalise`` spells it one way,
# ``units`` knows its measure), and ``equal.compare`` compares two values by exact rules. ``alike``
# votes by the same keys, so that a vote never counts two answers as different which a grader would
# call one.
#
# ``grade`` is the door for graders: a data set's own rule (``dataset_rules``, ``game24``) or the
# exact rules, and a ``Grade`` that names who gave it. ``forms`` stands before it for problems
# whose answers have a type: there one canonical form is written, and forms are equal or not.
#
# Nothing here may guess, run what a model wrote, take more than linear time, or depend on a
# processor: grades are recorded with their grader's version, and a replay on another machine years
# later must give the same ones. So numbers are fractions, texts have bounds, patterns have bounded
# repeats, and whatever changes a result needs a new version of the grader that it belongs to. What
# exact rules leave ``unknown`` goes to the graders of ``streams.answering.grading``, which may
# take a process and a clock.
