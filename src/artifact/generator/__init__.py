"""Seed to episode: brief, graph, 44-turn schedule (§4.1). Domains are data files."""

from artifact.generator.domain import domain_names
from artifact.generator.generate import generate
from artifact.generator.schedule import TRAP_BUDGET, TURNS, trap_budget

__all__ = ["TRAP_BUDGET", "TURNS", "domain_names", "generate", "trap_budget"]
