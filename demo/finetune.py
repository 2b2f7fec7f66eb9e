"""Fine-tuning: batches of similar length, one epoch of AdamW, accuracy on held-out examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from areas import Example
from classifier import AreaClassifier
from encoder import pad, tokenize
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Dataset, Sampler
from tqdm import tqdm
from transformers import BatchEncoding, PreTrainedTokenizerBase, get_linear_schedule_with_warmup

LEARNING_RATE = 3e-4
WEIGHT_DECAY = 0.01
MAX_GRADIENT_NORM = 1.0
WARMUP = 0.1  # part of all steps

Batch = tuple[BatchEncoding, torch.Tensor]


class TokenizedExamples(Dataset):
    """Pairs of token ids and label."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, examples: Sequence[Example]) -> None:
        self.token_ids = tokenize(tokenizer, [example.text for example in examples])
        self.labels = [example.label for example in examples]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[list[int], int]:
        return self.token_ids[index], self.labels[index]


class SimilarLengthBatches(Sampler[list[int]]):
    """Random batches of texts of similar length: shuffle, sort within pools of some batches, shuffle the batches."""

    def __init__(self, lengths: Sequence[int], batch_size: int, generator: torch.Generator, pool: int = 8) -> None:
        self.lengths = lengths
        self.batch_size = batch_size
        self.generator = generator
        self.pool = pool * batch_size

    def __len__(self) -> int:
        return -(-len(self.lengths) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        order = self._shuffled(len(self.lengths))
        pools = [order[start : start + self.pool] for start in range(0, len(order), self.pool)]
        order = [index for pool in pools for index in sorted(pool, key=self.lengths.__getitem__)]
        for batch in self._shuffled(len(self)):
            yield order[batch * self.batch_size : (batch + 1) * self.batch_size]

    def _shuffled(self, count: int) -> list[int]:
        return torch.randperm(count, generator=self.generator).tolist()


def collate(tokenizer: PreTrainedTokenizerBase, pairs: Sequence[tuple[list[int], int]]) -> Batch:
    """A padded batch and its labels, of shape (texts,)."""
    token_ids, labels = zip(*pairs)
    return pad(tokenizer, token_ids), torch.tensor(labels)


def training_batches(
    tokenizer: PreTrainedTokenizerBase, examples: Sequence[Example], batch_size: int, generator: torch.Generator
) -> DataLoader:
    """Batches in random order."""
    dataset = TokenizedExamples(tokenizer, examples)
    sampler = SimilarLengthBatches([len(ids) for ids in dataset.token_ids], batch_size, generator)
    return DataLoader(dataset, batch_sampler=sampler, collate_fn=partial(collate, tokenizer), generator=generator)


def evaluation_batches(
    tokenizer: PreTrainedTokenizerBase, examples: Sequence[Example], batch_size: int = 64
) -> DataLoader:
    """Batches in the order of the examples."""
    dataset = TokenizedExamples(tokenizer, examples)
    return DataLoader(dataset, batch_size, collate_fn=partial(collate, tokenizer))


def make_optimizer(model: AreaClassifier) -> AdamW:
    """AdamW, with weight decay for matrices and without it for biases and normalization."""
    decayed = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    others = [parameter for parameter in model.parameters() if parameter.dim() <= 1]
    groups = [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}]
    return AdamW(groups, lr=LEARNING_RATE)


def make_scheduler(optimizer: AdamW, steps: int) -> LambdaLR:
    """A learning rate that rises linearly for a tenth of the steps and then falls linearly to zero."""
    return get_linear_schedule_with_warmup(optimizer, round(WARMUP * steps), steps)


def train(model: AreaClassifier, batches: DataLoader, optimizer: AdamW, scheduler: LambdaLR) -> list[float]:
    """One epoch; the loss of every step."""
    model.train()
    losses = []
    with tqdm(batches, desc="fine-tuning", unit="step") as progress:
        for inputs, labels in progress:
            losses.append(train_step(model, inputs, labels, optimizer, scheduler))
            progress.set_postfix(loss=f"{losses[-1]:.3f}")
    return losses


def train_step(
    model: AreaClassifier, inputs: BatchEncoding, labels: torch.Tensor, optimizer: AdamW, scheduler: LambdaLR
) -> float:
    """Forward, backward and one update; the loss before the update."""
    loss = F.cross_entropy(model(**inputs), labels)
    loss.backward()
    clip_grad_norm_(model.parameters(), MAX_GRADIENT_NORM)
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
    return loss.item()


@torch.no_grad()
def predict(model: AreaClassifier, batches: DataLoader) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits (examples, areas) without dropout, and labels (examples,)."""
    model.eval()
    logits, labels = zip(*((model(**inputs), labels) for inputs, labels in batches))
    return torch.cat(logits), torch.cat(labels)


def accuracy(logits: torch.Tensor, labels: torch.Tensor) -> float:
    """The part of the examples whose highest logit is the right one."""
    return (logits.argmax(dim=-1) == labels).float().mean().item()
