"""The host around the GPUs: PCI, kernel, accounts, device nodes, processes."""
