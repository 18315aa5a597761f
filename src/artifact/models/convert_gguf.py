"""Turn a GGUF file into a Hugging Face checkpoint in bfloat16: ``python convert_gguf.py WEIGHTS FOLDER``.

Run as a script by the Python of vLLM's environment, which has neither this package nor its dependencies.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

# What remembers that the tensors came from a quantized file: a checkpoint that says so is loaded as one.
_QUANTIZED = ("hf_quantizer", "is_quantized", "quantization_method", "quantization_config", "_is_quantized")


def convert(weights: Path, folder: Path) -> None:
    """Write the checkpoint of a weights file into a folder."""
    tokenizer = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
    model = AutoModelForCausalLM.from_pretrained(weights.parent, gguf_file=weights.name, dtype=torch.bfloat16)
    for owner in (model, model.config):
        for attribute in _QUANTIZED:
            vars(owner).pop(attribute, None)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
