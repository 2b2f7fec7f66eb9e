"""``transformers.Trainer``: steps, evaluation, a checkpoint that is gone on from."""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed


def program():
    ids = torch.randint(0, 64, (32, 12), generator=torch.Generator().manual_seed(1))
    given = [{"input_ids": row, "attention_mask": torch.ones_like(row), "labels": row.sum() % 2} for row in ids]
    with tempfile.TemporaryDirectory() as folder:
        for resumed in (None, f"{folder}/checkpoint-4"):
            set_seed(0)
            model = BertForSequenceClassification(
                BertConfig(
                    vocab_size=64,
                    hidden_size=32,
                    num_hidden_layers=2,
                    num_attention_heads=2,
                    intermediate_size=64,
                    max_position_embeddings=32,
                )
            )
            arguments = TrainingArguments(
                folder,
                per_device_train_batch_size=8,
                num_train_epochs=2,
                learning_rate=1e-3,
                gradient_accumulation_steps=1,
                logging_steps=1,
                save_steps=4,
                warmup_steps=2,
                lr_scheduler_type="cosine",
                report_to=[],
                disable_tqdm=True,
                use_cpu=True,
            )
            trainer = Trainer(model=model, args=arguments, train_dataset=given, eval_dataset=given)
            trainer.train(resume_from_checkpoint=resumed)
            name = "resumed" if resumed else "trained"
            history = trainer.state.log_history
            yield f"{name} losses", [entry["loss"] for entry in history if "loss" in entry]
            yield f"{name} norms", [entry["grad_norm"] for entry in history if "grad_norm" in entry]
            yield f"{name} evaluated", trainer.evaluate()["eval_loss"]
            yield f"{name} predicted", torch.from_numpy(trainer.predict(given).predictions)
