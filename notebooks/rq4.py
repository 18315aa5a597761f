# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # RQ4. Does the ladder transfer?
#
# The lifecycle testbed is a world of our own making. Here the same couplings stand in front of tools and benchmarks:
# each world has its own harness, its own rungs and a section of its own below. Logs alone are read; none of the
# benchmarks has to be installed for that.

# %% tags=["parameters"]
logs = ["data/logs", "runs"]  # where logs lie, relative to the repository; the first copy of an episode counts
study = ""  # only this study's logs; empty for all

live = False  # True: run the airline tasks below first (needs the extra tau2); what is finished is not run again
live_study = "tau2_live"  # folder under runs/ for them
live_model = "qwen2.5-coder-1.5b"  # the agent: a name of the model registry, or a server's URL
live_user_model = ""  # who plays the user; empty for the agent's own model
live_rungs = ["raw", "shown", "notice", "enforcement"]  # the rungs
live_tasks = ["0", "26"]  # ids of the benchmark's tasks
live_seeds = "0:1"  # runs of each task, end excluded
live_rules = "reference"  # or "compiled" by the agent's own model, or a file of rules
live_compiles = 1  # compiles of the policy; the first is in force, the others measure the variance
live_max_steps = 60  # messages after which an episode ends
live_concurrency = 1  # episodes at a time

# %% [markdown]
# ## What is read
#
# Released logs come first, then the runs of this machine; an episode that infrastructure ended counts neither way. A
# table without logs reads "not run".

# %%
from IPython.display import Image

from artifact.harness.batch import run_study_in
from artifact.harness.figure_transfer import transfer_figure, worlds
from artifact.harness.pmbench import measures as pmbench
from artifact.harness.pmbench.numbers import week_numbers
from artifact.harness.pmbench.table import cue_table, week_table
from artifact.harness.provenance_table import harness_provenance_table
from artifact.harness.reader import harness_sources
from artifact.harness.tau2.compile_table import compile_table, kept_compiles
from artifact.harness.tau2.gate import Rung
from artifact.harness.tau2.harness import Airline
from artifact.harness.tau2.measures import judged
from artifact.harness.tau2.numbers import airline_numbers
from artifact.harness.tau2.plan import AirlinePlan
from artifact.harness.tau2.rules_table import rules_table
from artifact.harness.tau2.table import airline_sentence, airline_table
from artifact.harness.tools import measures as tools
from artifact.harness.tools.table import failing_tools_table, tools_numbers, tools_table
from artifact.harness.tools.trap_frame import tool_probe_frame
from artifact.harness.tools.trap_table import tools_trap_probe_table
from artifact.report import load_reported
from artifact.report.numbers import write_numbers
from artifact.report.probe_summary import probe_sentence
from artifact.report.style import save
from artifact.runner import parse_seeds

if live:
    plan = AirlinePlan(
        study=live_study, model=live_model, user_model=live_user_model or None, rungs=tuple(map(Rung, live_rungs)),
        tasks=tuple(live_tasks), seeds=parse_seeds(live_seeds), rules=live_rules, compiles=live_compiles,
        max_steps=live_max_steps)
    run_study_in(Airline(plan, concurrency=live_concurrency), live_study, concurrency=live_concurrency)

sources = harness_sources(logs)
reported = load_reported()
numbers = []

# %% [markdown]
# ## Real tools (Table 19)
#
# Each step is a tool that stamps a work order into a file; the gate stands at their dispatch. The second table has
# tools that fail, before their work or after it.

# %%
called = tuple(verdict for verdict in tools.judged(sources) if study in ("", verdict.study))
numbers += tools_numbers(called)
for table in (tools_table(called, reported), failing_tools_table(called)):
    table.write()
    display(table.frame())

# %% [markdown]
# What makes the agent run a finished step's tool again (Table 3): raw-arm episodes replayed live and branched at their
# redo traps, one thing changed in each branch.

# %%
probes = tool_probe_frame(sources)
probes = probes[probes["study"] == study] if study else probes
print(probe_sentence(probes))
table = tools_trap_probe_table(probes, reported)
table.write()
table.frame()

# %% [markdown]
# ## τ²-bench airline (Table 20)
#
# A policy gate at tool dispatch, in front of the six tools that write. Study `tau2_proof` has no model in it: a script
# makes the calls that the benchmark's authors expect, or makes none. It shows what the gate costs an agent that errs
# nowhere, and the floor under every other row.

# %%
airline = tuple(verdict for verdict in judged(sources) if study in ("", verdict.study))
numbers += airline_numbers(airline)
table = airline_table(airline, reported)
table.write()
by_rule = rules_table(airline)
by_rule.write()
display(by_rule.frame())
print(airline_sentence(airline))
table.frame()

# %% [markdown]
# What compiling the policy costs: compiled rules against the ones that people wrote, call by call.

# %%
compiles = compile_table(tuple(kept_compiles(sources, study or None)))
compiles.write()
compiles.frame()

# %% [markdown]
# ## PM-Bench (Table 21)
#
# Intentions to act on later, in generated weeks of the benchmark's size: what the rungs do with a record of them.

# %%
weeks = tuple(verdict for verdict in pmbench.judged(sources) if study in ("", verdict.study))
numbers += week_numbers("rq4", weeks)
table = week_table(weeks, reported)
table.write()
by_cue = cue_table(weeks)
by_cue.write()
display(by_cue.frame())
table.frame()

# %% [markdown]
# ## The worlds side by side
#
# The testbed's smallest project of several steps beside the three worlds above: measured values with 95 % intervals
# (for PM-Bench, the lowest and the highest run), and what the paper reports of its own models; then what all of it
# was measured on.

# %%
shown = worlds(sources, called, airline, weeks, reported)
display(Image(filename=save(transfer_figure(shown), "transfer").png))
write_numbers(numbers, "rq4")
table = harness_provenance_table(sources, study or None)
table.write()
table.frame()
