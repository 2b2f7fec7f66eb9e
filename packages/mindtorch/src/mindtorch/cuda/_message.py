"""Why CUDA cannot be used."""

NOT_ENABLED = "Torch not compiled with CUDA enabled: mindtorch has no CUDA device here, see `mindtorch doctor`"
