"""What people write: labelled lines, assignments, statements."""
