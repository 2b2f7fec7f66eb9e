"""Transformers of x-transformers with several of their options, trained and sampled from."""

import torch
from x_transformers import (
    AutoregressiveWrapper,
    Decoder,
    Encoder,
    TransformerWrapper,
    ViTransformerWrapper,
    XTransformer,
)

OPTIONS = {
    "plain": {},
    "rotary": {"rotary_pos_emb": True, "ff_glu": True, "use_rmsnorm": True},
    "alibi": {"alibi_pos_bias": True, "alibi_num_heads": 2},
    "relative": {"rel_pos_bias": True, "attn_qk_norm": True},
    "memory": {"attn_num_mem_kv": 2, "sandwich_norm": True},
    "squared": {"ff_relu_squared": True, "ff_glu": True},
}


def program():
    ids = torch.randint(0, 32, (2, 12), generator=torch.Generator().manual_seed(1))
    for name, options in OPTIONS.items():
        torch.manual_seed(0)
        layers = Decoder(dim=32, depth=2, heads=2, attn_dim_head=16, **options)
        model = AutoregressiveWrapper(TransformerWrapper(num_tokens=32, max_seq_len=32, attn_layers=layers))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for step in range(3):
            loss = model(ids)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield f"{name} {step}", loss
        yield f"{name} sampled", model.generate(ids[:, :3], 6, temperature=0.0)
    torch.manual_seed(0)
    pictures = ViTransformerWrapper(
        image_size=16, patch_size=4, num_classes=3, attn_layers=Encoder(dim=32, depth=1, heads=2)
    )
    yield "pictures", pictures(torch.randn(2, 3, 16, 16))
    both = XTransformer(
        dim=32,
        enc_num_tokens=32,
        enc_depth=1,
        enc_heads=2,
        enc_max_seq_len=16,
        dec_num_tokens=32,
        dec_depth=1,
        dec_heads=2,
        dec_max_seq_len=16,
    )
    yield "both", both(ids, ids)
