"""The bridge to training: roll-outs as groups with advantages, and a run of TRL's GRPOTrainer."""

# `groups` needs nothing but a log and writes lines of JSON; `tokens` and `grpo_trainer` read those
# where a model is trained, which may be another machine: they import nothing of a log.
