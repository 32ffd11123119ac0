"""What AMD's driver, tools and libraries write."""
