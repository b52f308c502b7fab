"""What is said: problems, answers, questions, events and their wire form. Pure; imports no other folder."""
