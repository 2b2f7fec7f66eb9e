"""A sentence transformer from a small BERT: embeddings, similarities, and training."""

import tempfile
from pathlib import Path

import torch
from sentence_transformers import InputExample, SentenceTransformer, losses, models
from transformers import BertConfig, BertModel, BertTokenizer

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] a small large red blue house car tree is stands by the river runs".split()
SENTENCES = ["a small house stands by the river", "the red car runs", "a large tree is by the house"]


def program():
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "vocab.txt").write_text("\n".join(WORDS))
        torch.manual_seed(0)
        BertModel(
            BertConfig(
                vocab_size=len(WORDS),
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=2,
                intermediate_size=48,
                max_position_embeddings=32,
            )
        ).save_pretrained(folder)
        BertTokenizer(str(Path(folder) / "vocab.txt")).save_pretrained(folder)
        words = models.Transformer(folder, max_seq_length=16)
        model = SentenceTransformer(modules=[words, models.Pooling(32), models.Normalize()], device="cpu")
    embedded = model.encode(SENTENCES, convert_to_tensor=True, show_progress_bar=False)
    yield "embedded", embedded
    yield "similarity", model.similarity(embedded, embedded)
    criterion = losses.MultipleNegativesRankingLoss(model)
    pairs = [InputExample(texts=[a, b]) for a, b in zip(SENTENCES, SENTENCES[1:] + SENTENCES[:1], strict=True)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.eval()
    for step in range(3):
        features = [model.tokenize([pair.texts[side] for pair in pairs]) for side in (0, 1)]
        loss = criterion(features, torch.arange(3))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield f"loss {step}", loss
