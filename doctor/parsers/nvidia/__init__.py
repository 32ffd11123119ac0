"""What NVIDIA's driver, tools and libraries write."""
