"""One test for each row of kind *mechanism* of the specification's Traceability tables."""
