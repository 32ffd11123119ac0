"""What users see, folded under its cause where one is found."""
