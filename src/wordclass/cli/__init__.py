"""The `wordclass` command: it parses arguments, calls one function and prints the result."""
