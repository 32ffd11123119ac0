"""What is expected of the machine, and what is not known of it."""
