"""What RXNMapper's pretrained ALBERT computes for three chemical reactions.

    python make_rxnmapper.py                    writes rxnmapper.npz; run it with PyTorch
    mindtorch run make_rxnmapper.py --check     compares mindtorch with what is stored

The package `rxnmapper` carries its weights in the file format that PyTorch wrote before 1.6, saved on a GPU.

PyTorch on one thread and on two threads computes the same. With its kernels for processors without AVX2
(`ATEN_CPU_CAPABILITY=default`) it differs by up to 3e-6 from itself, so 1e-4 is a wide margin.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch
from comparison import write_or_check
from transformers import AlbertConfig, AlbertModel

HERE = Path(__file__).parent
TOLERANCES = {"hidden": 1e-4, "pooled": 1e-4, "attention": 1e-4}
FEATURES = slice(None, None, 8)  # every eighth, to keep the snapshot small
HEAD = 5  # of the last layer: the one whose attention RXNMapper reads

# Token ids of three tokenized reactions, "reactants >> products" in SMILES notation:
# CC(C)S.Fc1cccnc1F>>CC(C)Sc1ncccc1F, CC(=O)O.OCC>>CC(=O)OCC and C1COCCN1.CC(=O)Cl>>CC(=O)N1CCOCC1
REACTIONS = """
    12 16 16 17 16 18 34 24 27 15 20 15 15 15 25 15 20 27 29 16 16 17 16 18 34 15 20 25 15 15 15 15 20 27 13
    12 16 16 17 22 19 18 19 24 19 16 16 29 16 16 17 22 19 18 19 16 16 13
    12 16 20 16 19 16 16 23 20 24 16 16 17 22 19 18 28 29 16 16 17 22 19 18 23 20 16 16 19 16 16 20 13
""".strip().splitlines()


def main() -> None:
    """Run the model on the reactions, padded to one batch."""
    model = load_model(model_directory())
    input_ids, attention_mask = batch([[int(token) for token in line.split()] for line in REACTIONS])
    with torch.no_grad():
        output = model(input_ids, attention_mask=attention_mask, output_attentions=True)
    no_padding = attention_mask.unsqueeze(-1)
    arrays = {
        "hidden": (output.last_hidden_state * no_padding)[..., FEATURES].numpy(),
        "pooled": output.pooler_output.numpy(),
        "attention": (output.attentions[-1][:, HEAD] * no_padding).numpy(),
    }
    write_or_check(HERE / "rxnmapper.npz", arrays, TOLERANCES)


def model_directory() -> Path:
    """Where the package keeps its model; it is found without importing the package, which would need much else."""
    spec = importlib.util.find_spec("rxnmapper")
    if spec is None:
        raise SystemExit("The package rxnmapper is not installed: pip install --no-deps rxnmapper")
    return Path(spec.submodule_search_locations[0]) / "models" / "transformers" / "albert_heads_8_uspto_all_1310k"


def load_model(directory: Path) -> AlbertModel:
    """The encoder, without the head that it was pretrained with."""
    state = torch.load(directory / "pytorch_model.bin", map_location="cpu")
    prefix = "albert."
    encoder_state = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
    model = AlbertModel(AlbertConfig.from_pretrained(directory, attn_implementation="eager"))
    model.load_state_dict(encoder_state)
    return model.eval()


def batch(sequences: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Padded token ids and attention mask, both of shape (sequences, longest)."""
    rows = [torch.tensor(sequence) for sequence in sequences]
    input_ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return input_ids, (input_ids != 0).long()


if __name__ == "__main__":
    main()
