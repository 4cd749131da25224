"""What benchmarks share: instances, figures, pictures, and what /proc says of processes."""
