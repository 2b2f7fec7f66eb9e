"""What operators do to sparse tensors, by operator family."""
