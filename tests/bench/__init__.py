"""Benchmarks: what a client costs a turn beside its peers, and how close an engine comes to its own limit.

`artifact bench` runs them. They measure; nothing here asserts a time.
"""
