"""Trains a small BERT with ``transformers.Trainer`` on however many processes it is started on; prints what came."""

from __future__ import annotations

import json
import os
import sys

import torch
from transformers import BertConfig, BertModel, Trainer, TrainingArguments, set_seed


class Classifier(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        config = BertConfig(
            vocab_size=64,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=32,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        self.bert = BertModel(config)
        self.head = torch.nn.Linear(32, 2)

    def forward(self, input_ids, attention_mask, labels):
        logits = self.head(self.bert(input_ids, attention_mask=attention_mask).pooler_output)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def examples() -> list[dict[str, torch.Tensor]]:
    ids = torch.randint(0, 64, (64, 12), generator=torch.Generator().manual_seed(1))
    return [{"input_ids": row, "attention_mask": torch.ones_like(row), "labels": row.sum() % 2} for row in ids]


def main() -> None:
    set_seed(0)
    model, given = Classifier(), examples()
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    arguments = TrainingArguments(
        sys.argv[1],
        per_device_train_batch_size=16 // processes,
        num_train_epochs=2,
        learning_rate=1e-3,
        logging_steps=1,
        save_steps=3,
        max_steps=int(os.environ.get("STEPS", "8")),
        lr_scheduler_type="constant",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=given, eval_dataset=given)
    trainer.train(resume_from_checkpoint=os.environ.get("RESUME"))
    evaluated = trainer.evaluate()["eval_loss"]
    if trainer.is_world_process_zero():
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        norm = sum(float(parameter.detach().double().square().sum()) for parameter in model.parameters())
        print("found", json.dumps({"losses": losses, "evaluated": evaluated, "norm": norm}))


if __name__ == "__main__":
    main()
