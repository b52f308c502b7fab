"""Model roles: one role = prompt, parser and question side by side."""

# Theory of operation.
#
# A policy asks a role (``Role.ask``, ``Role.put``). The role's fields are declared once, and three
# things follow from them: the format block of the prompt, the JSON Schema that an endpoint may be
# held to (``schemas.reply``), and the parser (``form.parse``, with a reader for each kind of field
# in ``values``). What is read may be held to a ``Check`` as well, and what cannot be read is asked
# for once more, with the name of the field that is wrong.
#
# Every word here that reaches a model is part of a question's fingerprint. A changed word diverges
# from each log that holds the question, so prompts change only with a new version of their
# policies. ``wording`` lets people put other words to a role; its sections and labels stay, since
# policies fill and read these.
#
# Parsers run again on every replay. They are pure, they never raise for anything that a model
# wrote, and they take time in proportion to a reply's length: a reply once hung a worker, and laws
# attack each pattern and role since. What is read otherwise than before changes what a recorded
# episode did, and needs a new version as a prompt does.
#
# Readers are lenient where small models err in form and strict where an error would be about
# content: a label may be spelt in many ways, while a number out of its bounds, two verdicts on one
# line or a copied instruction say nothing. Nothing is guessed, because a guess would be recorded
# as the model's word.
