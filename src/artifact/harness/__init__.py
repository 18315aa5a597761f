"""Other worlds in which the same couplings run (paper, Section 5.4)."""
