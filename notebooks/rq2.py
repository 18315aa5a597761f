# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
# ---

# %% [markdown]
# # RQ2. How strongly must owned state act?
#
# Once a module outside the prompt keeps the state, it can be **displayed** (checklist), turned into an instruction
# (**directive**), or **enforced** at the execution channel. Model, brief, requests and seeds stay the same: only the
# coupling changes. This notebook climbs the ladder.

# %% tags=["parameters"]
logs = ["data/logs", "runs"]  # where logs lie, relative to the repository; the first copy of an episode counts
study = ""  # only this study's logs; empty for all
preview_brief = "amended"  # brief of the preview; or "original"

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
# ## The four rungs

# %%
from IPython.display import Image

from artifact.report import (
    RUNGS,
    claims_text,
    evaluate,
    ladders,
    load_claims,
    load_reported,
    load_scored,
    write_claims,
)
from artifact.report.comparison_table import comparison_table
from artifact.report.figure_ladder import drawn_ladder
from artifact.report.figure_memory import memory_figure
from artifact.report.figure_preview import capability_preview
from artifact.report.inventory_table import inventory_table
from artifact.report.live import run_live
from artifact.report.memory_window import memory_windows
from artifact.report.numbers import rq2_numbers, write_numbers
from artifact.report.scored import log_sources
from artifact.report.sentences import measured_sentence, order_sentence
from artifact.report.style import save
from artifact.report.systems import load_systems, systems_table
from artifact.report.variant_studies import DOMAIN, LEDGER, MEMORY, MEMORY_LOWER, SURFACES

systems = systems_table(load_systems().system)
systems.write()
display(systems.frame())
Image(filename=save(drawn_ladder(), "ladder").png)

# %% [markdown]
# ## What is read
#
# Released logs come first, then the runs of this machine; an episode that infrastructure ended counts neither way.

# %%
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
# ## Success by agent
#
# Measured values with their 95% Wilson intervals, and in muted panels the values that the original paper reports for
# its own agents. The two come from different models and engines and are not pooled.

# %%
Image(filename=save(capability_preview(found, reported, preview_brief), "capability").png)

# %%
print(order_sentence(found, RUNGS))

# %% [markdown]
# ## The inventory
#
# Every ladder under both scorings. Neighbouring rungs are compared on the seeds that both completed: discordant pairs,
# exact McNemar p, and p adjusted by Holm's method over all such contrasts of a study within a scoring.

# %%
inventory = inventory_table(found)
inventory.write()
inventory.frame(
    "study", "model", "size", "brief", "scoring", "row", "k", "n", "only_lower", "only_upper", "p", "p_holm")

# %% [markdown]
# ## Other surfaces, the agent's own ledger, a second domain
#
# What is shown only in the current turn, said in the system prompt, or kept by the agent itself; and the ladder in
# another vocabulary.

# %%
for variants in (SURFACES, LEDGER, DOMAIN):
    table = variants.build(scored, reported)
    table.write()
    display(table.frame())

# %% [markdown]
# ## Would memory have done?
#
# Retrieval, in the transcript's place and beside it, against the rungs on the same seeds; and how often it brings back
# what the right answer needs.

# %%
for variants in (MEMORY, MEMORY_LOWER):
    table = variants.build(scored, reported)
    table.write()
    display(table.frame())
Image(filename=save(memory_figure(memory_windows(log_sources(logs))), "memory").png)

# %% [markdown]
# ## Reported and measured
#
# Each value of the paper that is measured here too, under the same conditions.

# %%
comparison = comparison_table(scored, found, reported)
comparison.write()
comparison.frame("metric", "arm", "reported_cell", "reported", "place", "measured_text", "model", "size", "study")

# %% [markdown]
# ## The paper's claims
#
# All of them, RQ1 and RQ3 included: expected, measured, and whether it holds on the agents measured here. They say
# nothing of any other agent.

# %%
results = evaluate(load_claims(), scored)
write_claims(results)
print(claims_text(results))

# %%
write_numbers(rq2_numbers(scored, found, results), "rq2")
