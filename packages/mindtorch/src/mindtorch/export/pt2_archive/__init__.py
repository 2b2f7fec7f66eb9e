"""``torch.export.pt2_archive``: the file format of exported programs."""

from . import constants as constants
from ._package import PT2ArchiveContents, is_pt2_package, load_pt2, package_pt2

__all__ = ["PT2ArchiveContents", "is_pt2_package", "load_pt2", "package_pt2"]
