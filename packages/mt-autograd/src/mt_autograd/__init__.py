"""Reverse-mode differentiation for mindtorch: recording layer, derivative rules, engine."""
