"""What every server of ours has in front of its pages: which hosts are answered, and how long anybody may take."""
