"""What the image builder writes, refuses and finds."""
