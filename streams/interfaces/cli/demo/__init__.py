"""The demo: 100 problems of Game of 24 from produce to answers, learning on the way."""
