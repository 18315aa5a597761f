# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # RQ1. Does text-borne state implement the lifecycle?
#
# An agent is led through a project in conversation. Each step is to be executed exactly once, when it is asked for and
# its prerequisites are met; what is blocked, done or cancelled is to be left alone. On the **raw** rung nothing keeps
# that state but the transcript. This notebook asks how far the transcript carries, and what goes wrong where it
# doesn't.

# %% tags=["parameters"]
logs = ["data/logs", "runs"]  # where logs lie, relative to the repository; the first copy of an episode counts
study = ""  # only this study's logs; empty for all
example_seed = 0  # seed of the drawn episode; 0 for the lowest that all rungs completed

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
# Released logs come first, then the runs of this machine. An episode that infrastructure ended (a timeout, an overflow)
# is neither a success nor a failure of the agent: it leaves every count and is counted apart.

# %%
from IPython.display import Image

from artifact.report import claims_text, evaluate, in_both_briefs, ladders, load_claims, load_reported, load_scored
from artifact.report.channel_table import channel_table
from artifact.report.example import example_logs
from artifact.report.figure_episode import example_episode
from artifact.report.figure_sizes import size_sweep
from artifact.report.ladder_table import ladder_table
from artifact.report.live import run_live
from artifact.report.models_table import models_table
from artifact.report.numbers import rq1_numbers, write_numbers
from artifact.report.probe_summary import probe_headers
from artifact.report.provenance_table import provenance_table
from artifact.report.scored import log_sources
from artifact.report.sentences import measured_sentence, rung_sentence
from artifact.report.size_table import size_table
from artifact.report.style import save
from artifact.report.variant_studies import BRIEF_CONTROL, ONE_STEP

if live:
    run_live(
        study=live_study, model=live_model, state_model=live_state_model, sizes=live_sizes, densities=live_densities,
        domain=live_domain, brief=live_brief, regime=live_regime, prompts=live_prompts, arms=live_arms,
        seeds=live_seeds, concurrency=live_concurrency)

# %%
sources = log_sources(logs)
scored = load_scored(sources).of_study(study or None)
both_briefs = in_both_briefs(ladders(scored.episodes))
reported = load_reported()
print(measured_sentence(scored))

# %% [markdown]
# ## One episode
#
# The same project on every rung, drawn from its logs: what the user asks, where the plan changes, which steps are owed
# at each turn, what is booked and what of it is wrong.

# %%
episode = example_logs(sources, scored, seed=example_seed)
Image(filename=save(example_episode(episode), "episode").png) if episode else print("No completed episode to draw.")

# %% [markdown]
# ## Strict success, amended brief
#
# The amended brief states that each step is performed once. An episode succeeds when every turn of it is served right.
# Below the measured rows stand the values that the original paper reports for its own models.

# %%
amended = ladder_table(both_briefs, reported, "amended")
amended.write()
amended.frame("source", "study", "model", "size", "arm", "k", "n", "rate", "low", "high", "excluded")

# %%
print(rung_sentence((ladder for ladder in both_briefs if ladder.configuration.brief == "amended"), "raw"))

# %% [markdown]
# ## Strict success, original brief
#
# The original brief leaves that sentence out; requests and seeds are the same. A rung without logs reads "not run". The
# first table compares both briefs seed by seed and counts the fresh-order hazard: a finished step executed again on a
# fresh request that doesn't order a redo.

# %%
original = ladder_table(both_briefs, reported, "original")
original.write()
control = BRIEF_CONTROL.build(scored, reported)
control.write()
display(control.frame())
original.frame("source", "study", "model", "size", "arm", "k", "n", "rate", "low", "high", "excluded")

# %% [markdown]
# ## Larger projects, and the smallest
#
# The same sweep of graph sizes as the paper's, at 44 scripted turns whatever the size; and projects of one step, on
# which redo probes and an ordered redo are the only traps.

# %%
one_step = ONE_STEP.build(scored, reported)
one_step.write()
display(one_step.frame())
sizes = size_table(scored, reported)
sizes.write()
display(Image(filename=save(size_sweep(scored, reported), "sizes").png))
sizes.frame("model", "size", "density", "arm", "k", "n", "rate", "right_turns", "scored_turns", "re_executions_per_128")

# %% [markdown]
# ## What goes wrong
#
# Six channels partition the violations. Counts are of completed episodes, under the primary scoring and, with `da_`,
# under the decline-aware one, where a booking cited inside a refusal executes nothing.

# %%
channels = channel_table(scored.episodes)
channels.write()
channels.frame()

# %% [markdown]
# ## Measured on what
#
# Every row is read from the headers of the logs, those of the trap-turn probe included.

# %%
models = models_table(scored.headers, probe_headers(sources))
models.write()
display(models.frame())
provenance = provenance_table(scored.headers)
provenance.write()
provenance.frame()

# %% [markdown]
# ## The paper's claims on RQ1
#
# Decided on the agents measured here, and saying nothing of any other.

# %%
results = evaluate((claim for claim in load_claims() if claim.question == 1), scored)
print(claims_text(results))
write_numbers(rq1_numbers(scored, both_briefs), "rq1")
