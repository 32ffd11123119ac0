"""Text or bytes of one tool or file -> facts. Pure: no reader asks the machine for anything."""
