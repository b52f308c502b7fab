"""Tests, mirroring the four packages."""
