"""What runs say: analyses, recipes and measurements, trials of policies, training data, evidence and exports."""
