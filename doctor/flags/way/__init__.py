"""The way of a variable: from the file that sets it to each process that the file starts."""
