"""Parts that stand before the pages of every server of ours: which hosts it answers, and how long anybody may take."""
