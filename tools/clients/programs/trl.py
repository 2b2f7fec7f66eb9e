"""Supervised fine-tuning and preference optimization of a small Llama by trl."""

import tempfile

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

WORDS = "<pad> <s> </s> <unk> a small large red blue house car tree is stands by the river runs".split()


def tokenizer():
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def model():
    set_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(WORDS),
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            intermediate_size=48,
            pad_token_id=0,
        )
    )


def program():
    common = {
        "max_steps": 3,
        "per_device_train_batch_size": 2,
        "logging_steps": 1,
        "report_to": [],
        "use_cpu": True,
        "bf16": False,
        "save_strategy": "no",
        "learning_rate": 1e-2,
        "disable_tqdm": True,
    }
    texts = ["a small house stands by the river", "the red car runs", "a large tree is by the house", "the tree is red"]
    with tempfile.TemporaryDirectory() as folder:
        trainer = SFTTrainer(
            model(),
            args=SFTConfig(folder, max_length=16, **common),
            train_dataset=Dataset.from_dict({"text": texts}),
            processing_class=tokenizer(),
        )
        trainer.train()
        yield "fine-tuned", [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        trainer = DPOTrainer(
            model(),
            ref_model=model(),
            args=DPOConfig(folder, max_length=16, **common),
            train_dataset=Dataset.from_dict({"prompt": ["the "] * 4, "chosen": texts, "rejected": texts[::-1]}),
            processing_class=tokenizer(),
        )
        trainer.train()
        yield "preferred", [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        yield "rewards", [entry["rewards/margins"] for entry in trainer.state.log_history if "rewards/margins" in entry]
        yield "norm", sum(parameter.detach().double().square().sum() for parameter in trainer.model.parameters())
