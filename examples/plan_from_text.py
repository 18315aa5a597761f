"""A gate whose plan a model compiles from a text: run it with the name of a model, or with a server's URL."""
import asyncio
import sys

from artifact import gate_from_text
from artifact.models import open_model

TEXT = """You help the workshop. A step is carried out once, and only when what it requires is done.
- s1: order the seals [tool order]
- s2: pay the bill (requires: s1) [tool pay]
"""


async def main(name):
    model = await open_model(name)
    gate = await gate_from_text(TEXT, model)
    await model.close()
    pay = gate.state.graph.step_with_code("pay")
    before = gate.directive_text(pay)
    gate.receipt("s1", work_order="#W0001")
    return f"{before}\n{gate.checklist()}\n{gate.directive_text(pay)}\n"

sys.stdout.write(asyncio.run(main(*sys.argv[1:])))
