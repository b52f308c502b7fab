"""Tests of what the papers claim: each is marked with the claims that deploy/docs/design/claims.md lists."""
