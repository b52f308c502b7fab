"""State: everything that is remembered, as journals, folds and tables."""
