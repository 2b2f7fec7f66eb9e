"""Search Python's standard library by meaning, then teach the search model to tell its areas apart.

    mindtorch run demo/search_and_finetune.py [--quick] [--output DIR] [QUESTION ...]
    python demo/search_and_finetune.py ...        the same with PyTorch

Nothing here knows which of the two it runs on. No network is needed: the pretrained model comes with an installed
package, and the texts are the docstrings of the Python that runs this.
"""

from __future__ import annotations

import argparse
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import transformers
from areas import AREAS, Example, examples, split
from checkpoints import load_checkpoint, load_folder, save
from classifier import AreaClassifier
from corpus import Entry, collect
from encoder import MODEL_DIR, embed, load_encoder, load_tokenizer
from finetune import accuracy, evaluation_batches, make_optimizer, make_scheduler, predict, train, training_batches
from plots import save_loss_curve
from search import Match, build_index
from transformers import PreTrainedTokenizerBase

SEED = 0
QUESTIONS = (
    "Which function finds strings that are similar?",
    "I want to run a command and get what it prints",
    "What is the difference between two dates?",
)

EVERYDAY = set(
    """
    bisect calendar collections copy csv datetime difflib fileinput fnmatch functools glob heapq io itertools json math
    operator os pickle platform pprint random re secrets shlex shutil socket statistics string subprocess sys tempfile
    textwrap time timeit traceback uuid warnings webbrowser zlib
    """.split()
)


@dataclass(frozen=True)
class Size:
    """How much fine-tuning to do."""

    train: int
    held_out: int
    batch_size: int


FULL = Size(train=1_600, held_out=400, batch_size=32)
QUICK = Size(train=320, held_out=100, batch_size=16)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the whole demonstration."""
    options = parse(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()  # no report that the head of the classifier is new
    started = time.perf_counter()
    print(f"torch {torch.__version__}, transformers {transformers.__version__}")
    tokenizer = load_tokenizer()
    entries = collect()
    searched = everyday(entries) if options.quick else entries
    answer_questions(tokenizer, searched, options.questions or QUESTIONS)
    learn_areas(tokenizer, examples(entries), QUICK if options.quick else FULL, options.output)
    print(f"\nDone in {time.perf_counter() - started:.0f} seconds.")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Search the standard library by meaning and fine-tune the model.")
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help="what to search for")
    parser.add_argument("--quick", action="store_true", help="less of everything, for a first look")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "output", metavar="DIR")
    return parser.parse_args(arguments)


def everyday(entries: Sequence[Entry]) -> list[Entry]:
    """The functions and classes that stand directly in one of the modules for everyday work."""
    return [entry for entry in entries if entry.is_top_level and entry.module in EVERYDAY]


def answer_questions(tokenizer: PreTrainedTokenizerBase, entries: Sequence[Entry], questions: Sequence[str]) -> None:
    """Embed the documentation and print the best matches for each question."""
    encoder = load_encoder()
    index = build_index(encoder, tokenizer, entries)
    print(f"Searched the docstrings of {len(entries)} functions, methods and classes of the standard library.")
    for question, embedding in zip(questions, embed(encoder, tokenizer, questions)):
        print(f"\n{question}")
        print_matches(index.search(embedding))


def print_matches(matches: Sequence[Match]) -> None:
    """One line for each match."""
    for entry, score in matches:
        print(f"  {score:.3f}  {entry.name:32} {textwrap.shorten(entry.summary, 70, placeholder=' ...')}")


def learn_areas(tokenizer: PreTrainedTokenizerBase, pool: Sequence[Example], size: Size, output: Path) -> None:
    """Fine-tune a classifier, print what it learned, and show that saving and loading changes nothing."""
    torch.manual_seed(SEED)
    generator = torch.Generator().manual_seed(SEED)
    train_set, held_out_set = split(pool, size.train, size.held_out, generator)
    model = AreaClassifier.from_pretrained(MODEL_DIR, num_labels=len(AREAS))
    batches = training_batches(tokenizer, train_set, size.batch_size, generator)
    held_out = evaluation_batches(tokenizer, held_out_set)
    optimizer = make_optimizer(model)
    scheduler = make_scheduler(optimizer, len(batches))

    print(f"\nWhich of {len(AREAS)} areas does a docstring belong to? {size.train} examples, {size.held_out} held out.")
    before = accuracy(*predict(model, held_out))
    losses = train(model, batches, optimizer, scheduler)
    logits, labels = predict(model, held_out)
    print(f"Held-out accuracy: {before:.1%} before, {accuracy(logits, labels):.1%} after fine-tuning.")
    save_loss_curve(losses, output / "loss.png")
    print(f"Loss curve: {output / 'loss.png'}")

    folder, checkpoint = save(output, model, optimizer, scheduler)
    for path, loaded in (folder, load_folder(folder)), (checkpoint, load_checkpoint(checkpoint)):
        if not torch.equal(predict(loaded, held_out)[0], logits):
            raise SystemExit(f"The model read from {path} predicts something else than the one saved there.")
        print(f"Saved, loaded again, same predictions: {path}")


if __name__ == "__main__":
    main()
