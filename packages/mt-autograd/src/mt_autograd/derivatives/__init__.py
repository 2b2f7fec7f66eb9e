"""Derivatives, one module per operator family (`mt_autograd.rules` explains how they are declared)."""
