"""The bridge to training: roll-outs as groups with advantages, and a run of TRL's GRPOTrainer."""
