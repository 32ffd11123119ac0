"""Binaries and the loader: ELF files, GPU code in them, the loader's configuration."""
