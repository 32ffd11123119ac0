"""The kernel and the host around the GPUs: /proc, /sys, /etc, PCI, packages of the system."""
