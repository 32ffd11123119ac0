"""Files and output of container engines, Kubernetes and schedulers."""
