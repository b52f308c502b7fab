"""From a source's lines to problems on their topic."""
