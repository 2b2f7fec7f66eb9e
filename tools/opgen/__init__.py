"""Generates the signature wrappers, their stubs and the operator reference from the declarations."""
