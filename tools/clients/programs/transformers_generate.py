"""Small models of eight architectures from a seed; generation by greedy search, beams and sampling."""

import torch
from transformers import (
    AlbertConfig,
    AlbertModel,
    BertConfig,
    BertForMaskedLM,
    DistilBertConfig,
    DistilBertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTModel,
)

SMALL = {"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}


def program():
    ids = torch.randint(3, 60, (2, 7), generator=torch.Generator().manual_seed(1))
    for configuration, kind in (
        (BertConfig(**SMALL), BertForMaskedLM),
        (RobertaConfig(**SMALL), RobertaModel),
        (AlbertConfig(**SMALL, embedding_size=16), AlbertModel),
        (DistilBertConfig(vocab_size=60, dim=32, n_layers=2, n_heads=2, hidden_dim=48), DistilBertModel),
    ):
        torch.manual_seed(0)
        yield kind.__name__, kind(configuration).eval()(ids)[0]
    torch.manual_seed(0)
    pictures = ViTModel(ViTConfig(**SMALL, image_size=16, patch_size=4)).eval()
    yield "ViTModel", pictures(torch.randn(2, 3, 16, 16)).last_hidden_state
    for configuration, kind in (
        (GPT2Config(vocab_size=60, n_embd=32, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=2), GPT2LMHeadModel),
        (LlamaConfig(**SMALL, num_key_value_heads=1), LlamaForCausalLM),
        (
            T5Config(vocab_size=60, d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2, decoder_start_token_id=0),
            T5ForConditionalGeneration,
        ),
    ):
        torch.manual_seed(0)
        model = kind(configuration).eval()
        asked = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "max_new_tokens": 6, "pad_token_id": 0}
        yield f"{kind.__name__} greedy", model.generate(**asked, do_sample=False)
        yield f"{kind.__name__} beams", model.generate(**asked, num_beams=3, do_sample=False)
        torch.manual_seed(2)
        yield f"{kind.__name__} sampled", model.generate(**asked, do_sample=True, top_k=20, top_p=0.9, temperature=0.8)
        loss = model(input_ids=ids, labels=ids).loss
        yield f"{kind.__name__} loss", loss
        loss.backward()
        yield f"{kind.__name__} gradients", sum(p.grad.norm() for p in model.parameters() if p.grad is not None)
