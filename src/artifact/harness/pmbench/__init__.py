"""PM-Bench under the couplings: intentions to act on at the right later moment (paper, Section 5.5 and Appendix I).

A clean-room implementation of the benchmark's published rules: nothing of its code or texts is in here. It runs on
weeks that are generated from a seed, and on the benchmark's released week where a user has its file.
"""
