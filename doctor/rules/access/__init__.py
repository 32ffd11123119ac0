"""Access to the GPUs: device nodes, containers and engines, limits, schedulers, WSL."""
