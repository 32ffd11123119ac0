"""Report -> text. One format a file; width, colour and terminal are arguments."""
