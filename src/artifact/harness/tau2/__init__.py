"""The airline domain of τ²-bench with a policy gate at tool dispatch (paper, Section 5.4, Table 20).

The paper's appendix on this study is not at hand: rules, rungs and measures here are this project's own reading of
the policy and of Section 5.4.
"""
