"""AMD's GPUs, by the kernel and by AMD's tools."""
