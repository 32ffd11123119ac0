"""Error texts that programs print, as templates with typed holes, and the causes that each points to."""
