"""Who answers the questions of policies: models, embedders, tools, checkers and people, behind one ``World``."""

# Theory of operation. The driver of an episode asks a World for what its record does not hold. The
# World knows who answers which question: a Caller asks a backbone until there is a reply that can
# be recorded, embedders make vectors, tools and checkers and people answer the rest. What comes
# back is normalised, so that a strange answer can be recorded too.
#
# An answer is paid for once. So everything that a model, a server or a tool wrote is read by code
# that never raises, and whose fault a failure is gets decided before anything is recorded: the
# prompt's is an answer, the moment's is waited for, and the set-up's ends the worker without
# charging any problem.
#
# Nothing in here decides anything for a policy: what cannot be read, or was cut, goes to the policy
# as it is.
