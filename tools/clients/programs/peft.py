"""Nine methods of peft on a small Llama: forward, three steps, the adapter merged."""

import torch
from peft import (
    IA3Config,
    LoHaConfig,
    LoKrConfig,
    LoraConfig,
    OFTConfig,
    PrefixTuningConfig,
    PromptEncoderConfig,
    PromptTuningConfig,
    TaskType,
    get_peft_model,
)
from transformers import LlamaConfig, LlamaForCausalLM

TARGETS = ["q_proj", "v_proj"]


def program():
    ids = torch.randint(3, 60, (2, 8), generator=torch.Generator().manual_seed(1))
    methods = {
        "lora": LoraConfig(r=4, target_modules=TARGETS, task_type=TaskType.CAUSAL_LM),
        "dora": LoraConfig(r=4, use_dora=True, target_modules=TARGETS, task_type=TaskType.CAUSAL_LM),
        "ia3": IA3Config(target_modules=TARGETS, feedforward_modules=[], task_type=TaskType.CAUSAL_LM),
        "loha": LoHaConfig(r=4, target_modules=TARGETS),
        "lokr": LoKrConfig(r=4, target_modules=TARGETS),
        "oft": OFTConfig(r=0, oft_block_size=8, target_modules=TARGETS),
        "prefix": PrefixTuningConfig(num_virtual_tokens=3, task_type=TaskType.CAUSAL_LM),
        "prompt": PromptTuningConfig(num_virtual_tokens=3, task_type=TaskType.CAUSAL_LM),
        "encoder": PromptEncoderConfig(num_virtual_tokens=3, encoder_hidden_size=16, task_type=TaskType.CAUSAL_LM),
    }
    for name, configuration in methods.items():
        torch.manual_seed(0)
        base = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=60,
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=2,
                num_key_value_heads=2,
                intermediate_size=48,
            )
        )
        model = get_peft_model(base, configuration)
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        yield f"{name} trainable", sum(parameter.numel() for parameter in trained)
        optimizer = torch.optim.AdamW(trained, lr=1e-2)
        for step in range(3):
            loss = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield f"{name} loss {step}", loss
        if name in ("lora", "dora", "ia3", "loha", "lokr", "oft"):
            yield f"{name} merged", model.merge_and_unload()(ids).logits[:, -1]
