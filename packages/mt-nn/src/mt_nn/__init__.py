"""Neural network modules, optimizers and data loading of mindtorch."""
