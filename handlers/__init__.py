"""What is decided: policies, roles, learning rules, answers. Pure: no clock, randomness, loop, client or store."""
