"""Where vectors of texts come from."""

# Vectors of two embedders say nothing of each other, so that a memory has one, whose name stands
# with its first vectors; agreement refuses any other. A vector is recorded where it is made and
# never made again: the last bits of one hang on the machine.
