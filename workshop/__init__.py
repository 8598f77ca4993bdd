"""Exact models of attention: traffic, on-chip memory, time and the online softmax (numpy only)."""
