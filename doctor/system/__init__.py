"""The only door to the machine: live, another root, a capture, and a recorder that wraps another."""
