"""The `wordclass` command: parses arguments, calls one function, prints the result."""
