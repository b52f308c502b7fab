"""Pure rules of learning that policies score with and folds apply."""
