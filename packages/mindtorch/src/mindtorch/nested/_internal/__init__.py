"""What ``torch.nested`` is made of: nested ints, the tensors, and what operators do to them."""
