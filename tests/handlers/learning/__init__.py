"""Tests of handlers/learning."""
