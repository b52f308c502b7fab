"""How an answer is found in a text and compared with what is right."""
