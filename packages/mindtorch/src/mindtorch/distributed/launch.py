"""``python -m torch.distributed.launch``: as `torch.distributed.run`, which took its place."""

from .run import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
