"""Own pairs that say the same in other words: a lesson, and what somebody in need of it might ask.

But for words such as "the" and "to" the two sides of a pair share none.
"""

from __future__ import annotations

PAIRS = (
    (
        "Convert all quantities to the same units first.",
        "Minutes and hours got mixed up in this sum.",
    ),
    ("Check whether the answer is negative.", "Could the final result lie below zero?"),
    ("Draw a picture of the shapes.", "Sketch the figure on paper before starting."),
    (
        "Divide the total price by how many were bought.",
        "What does each item cost if ten cost 40 dollars?",
    ),
    ("Multiply speed by time to get distance.", "How far does a car drive in three hours?"),
    (
        "Remember to carry the one when adding columns.",
        "The sum of two long numbers came out too small by ten.",
    ),
    (
        "Test small cases before you generalise.",
        "Try n equal to 1, 2 and 3, then guess the pattern.",
    ),
    ("Count from the end and work backwards.", "Start with the goal and undo every step."),
    ("The dog chased a cat through our garden.", "A hound ran after the kitten across the yard."),
    (
        "Percentages refer to the original amount.",
        "The discount is taken off what it cost at first.",
    ),
    ("Do not round numbers until you finish.", "Keep every decimal place to the last line."),
    ("Probability never exceeds one.", "The chance of an event is at most 100 percent."),
    ("Her physician prescribed some medicine.", "The doctor gave the woman drugs to take."),
    ("Prime numbers have exactly two divisors.", "Only itself and 1 go into it without remainder."),
    ("Read the question twice.", "Go over what is asked again, slowly."),
    (
        "Substitute the solution into the equation to verify it.",
        "Plug in the value you found and see if both sides agree.",
    ),
    ("Children's tickets are cheaper than adults'.", "Kids pay less to enter than grown-ups do."),
    ("Split the hard task into easier parts.", "Break a difficult problem down to smaller pieces."),
    ("Eggs are sold by the dozen.", "They come in packs of twelve from the hen house."),
    ("The area of a rectangle is length times width.", "How much carpet covers a room 4 m by 5 m?"),
    (
        "Halve the workers and it takes double the days.",
        "With fewer people on the job the work lasts longer.",
    ),
    ("He left his job last week.", "The man resigned a few days ago."),
    ("Beware of counting the same object twice.", "Some things were tallied two times by mistake."),
    (
        "Subtract what was spent from the money at the start.",
        "How much cash is left after shopping?",
    ),
)
