"""Custom operators for mindtorch: torch.library and torch.ops."""
