"""Retrospective memory: arms that show the agent what was said, and own no state (§3.3, Appendix F)."""
