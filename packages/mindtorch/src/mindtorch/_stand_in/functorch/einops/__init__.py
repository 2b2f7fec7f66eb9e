"""``functorch.einops``: dimensions rearranged by a pattern of names."""

from mindtorch._functorch.rearrange import rearrange as rearrange
