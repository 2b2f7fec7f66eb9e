"""Sample inputs, one module per operator family; see `mt_core.testing.sample`."""
