# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # RQ3. What bounds each rung?
#
# A rung fails where its coupling ends. The checklist ends at what the agent does with a record, the directive at
# obedience, enforcement at the state and at what an agent doesn't do by itself; and both gates at the matcher in front
# of them. This notebook looks at each of these bounds, in logs alone: nothing here asks a model anything.

# %% tags=["parameters"]
logs = ["data/logs", "runs"]  # where logs lie, relative to the repository; the first copy of an episode counts
study = ""  # only this study's logs; empty for all

live = False  # True: run the episodes below first; what is finished already is not run again
live_study = "live"  # folder under runs/ for them
live_model = "qwen2.5-coder-1.5b"  # the agent: a name of the model registry, or a server's URL
live_state_model = ""  # who compiles and matches; empty for the agent's own model
live_sizes = [5]  # steps of the project, S
live_densities = [0.15]  # extra-edge density of the graph
live_domain = "procurement"  # or "release"
live_brief = "amended"  # or "original", which doesn't say that a step is performed once
live_regime = "no_think"  # or "think"
live_prompts = "fewshot"  # prompt set; "paper" asks as published
live_arms = ["raw", "checklist", "directive", "enforcement"]  # the rungs
live_seeds = "100:102"  # seeds, end excluded
live_concurrency = 1  # conversations at a time

# %% [markdown]
# ## What is read
#
# Released logs come first, then the runs of this machine; an episode that infrastructure ended counts neither way. A
# study that has no logs reads "not run".

# %%
from IPython.display import Image

from artifact.report import claims_text, evaluate, ladders, load_claims, load_reported, load_scored
from artifact.report.attribution_table import attribution_table
from artifact.report.build_rq3 import DENSE
from artifact.report.channel_rates_table import channel_rates_table
from artifact.report.compile_table import compile_table
from artifact.report.corruption_table import corruption_table
from artifact.report.figure_channels import channel_decomposition
from artifact.report.figure_corruption import corruption_effect
from artifact.report.live import run_live
from artifact.report.numbers import write_numbers
from artifact.report.numbers_rq3 import rq3_numbers
from artifact.report.numbers_variants import variant_numbers
from artifact.report.obedience_table import obedience_table
from artifact.report.overhead_table import overhead_table
from artifact.report.probe_summary import load_probes, probe_sentence
from artifact.report.probe_table import probe_numbers, trap_probe_table
from artifact.report.scored import log_sources
from artifact.report.sentences import measured_sentence
from artifact.report.style import save
from artifact.report.validator_gate import validator_gate_table
from artifact.report.variant_studies import ALL, ASKING, FILLERS, HEALING, NOTICE, SPOOFING, WORDING

if live:
    run_live(
        study=live_study, model=live_model, state_model=live_state_model, sizes=live_sizes, densities=live_densities,
        domain=live_domain, brief=live_brief, regime=live_regime, prompts=live_prompts, arms=live_arms,
        seeds=live_seeds, concurrency=live_concurrency)

scored = load_scored(log_sources(logs)).of_study(study or None)
found = ladders(scored.episodes)
reported = load_reported()
print(measured_sentence(scored))

# %% [markdown]
# ## Which errors are left on which rung
#
# Each channel over the turns on which it can occur, by the realized state. False completions are refused bookings whose
# visible reply reads as completed work.

# %%
display(Image(filename=save(channel_decomposition(scored), "channel_rates").png))
save(channel_decomposition(scored, *DENSE), "dense")
rates = channel_rates_table(scored, reported)
rates.write()
rates.frame()

# %% [markdown]
# ## The directive's bound: obedience
#
# Directives that forbid, as they were issued, and how many the agent heeded; beside them the matcher that issues them.

# %%
obedience = obedience_table(scored, reported)
obedience.write()
obedience.frame()

# %% [markdown]
# ## What an agent goes by at a trap
#
# Redo probes of the raw rung, asked again with one thing changed: the request's form, where the state is shown, or the
# agent's own earlier record. The replies were sampled when the probe ran; here they are sorted and counted.

# %%
probes = load_probes(log_sources(logs))
trap_probe = trap_probe_table(probes, reported)
trap_probe.write()
print(probe_sentence(probes))
trap_probe.frame()

# %% [markdown]
# ## The gate's bound: its state
#
# How right the compiled state is, what the omissions behind the gate are laid to, and what would have become of them
# had the gate enforced only where the validator passes the state. The last is scored offline and replays nothing.

# %%
for build in (compile_table, attribution_table, validator_gate_table):
    table = build(scored, reported)
    table.write()
    display(table.frame())

# %% [markdown]
# ## A corrupted state
#
# Done bits flip and prerequisites drop at a rate. The corruption is drawn from rate, seed and turn, so it is drawn
# again from the log and counted event by event.

# %%
display(Image(filename=save(corruption_effect(scored, reported), "corruption").png))
corruption = corruption_table(scored, reported)
corruption.write()
corruption.frame()

# %% [markdown]
# ## Both gates' bound: the matcher
#
# Other words for the same requests, requests that name two steps, forged lines in the user's own text, and fillers with
# something to book.

# %%
for variants in (WORDING, SPOOFING, FILLERS):
    table = variants.build(scored, reported)
    table.write()
    display(table.frame())

# %% [markdown]
# ## What a gate can do about its bounds
#
# One that tells at once of a refusal, one that asks back, one that heals its state: each against the paper's own gate
# on the same seeds.

# %%
for variants in (NOTICE, ASKING, HEALING):
    table = variants.build(scored, reported)
    table.write()
    display(table.frame())

# %% [markdown]
# ## What each rung costs, and what is claimed of it

# %%
overhead = overhead_table(scored, reported)
overhead.write()
display(overhead.frame())
results = evaluate((claim for claim in load_claims() if claim.question == 3), scored)
print(claims_text(results))
cited = [*rq3_numbers(scored, found), *probe_numbers("rq3", probes), *variant_numbers("rq3", scored, ALL)]
write_numbers(cited, "rq3")
