"""What is remembered: journals, folds and tables."""
