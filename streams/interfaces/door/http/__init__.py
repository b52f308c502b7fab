"""The door over HTTP: what OpenAI's clients speak, and our own problems, answers, events and feedback.

``app`` lists the routes, ``chat`` says an answer as a chat completion, ``access`` knows who may do what. Whoever
comes with a token has a memory of its own and sees the episodes under it, no others. What may be asked for
is what the operator listed; no file, path or URL is ever taken from a request.
"""
