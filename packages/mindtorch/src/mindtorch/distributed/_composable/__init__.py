"""``torch.distributed._composable``: wrappers of modules that leave the module's class as it is."""
