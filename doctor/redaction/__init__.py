"""What is a secret, what is a name, and what stands in their place."""
