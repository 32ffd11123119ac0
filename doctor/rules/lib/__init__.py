"""What several rules share. No file here is a rule."""
