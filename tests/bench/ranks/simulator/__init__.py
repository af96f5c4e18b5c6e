"""What a program would take on other numbers of ranks, from a trace of what it computed and exchanged."""
