"""What runs say: analyses, recipes and measurements, trials of policies, training data, evidence and exports."""

# Nothing here is asked while an episode runs. All of it reads a log that workers
# wrote, or makes side runs that bear a purpose of their own and belong to no figure
# but the one that asked for them. Two rules hold throughout: what nobody knows is
# unknown, is counted, and is no zero in any mean; and a figure has one implementation,
# so that a report, a recipe and the dashboard cannot print it differently.
