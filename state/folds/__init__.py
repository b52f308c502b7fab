"""Pure folds over the log: everything that is remembered follows from them."""
