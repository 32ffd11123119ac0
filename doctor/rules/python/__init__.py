"""The user's Python environment: torch, its companions, packages that shadow others."""
