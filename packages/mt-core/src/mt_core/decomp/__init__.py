"""Composites, one file per operator family: operators written in other operators, on tensors."""
