"""Environment variables that contradict each other, the GPU or the job."""
