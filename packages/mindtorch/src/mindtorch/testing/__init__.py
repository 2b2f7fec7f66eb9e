"""``torch.testing``: comparing results and making inputs for tests."""

from ._comparison import assert_allclose as assert_allclose
from ._comparison import assert_close as assert_close
from ._creation import make_tensor as make_tensor
from ._file_check import FileCheck as FileCheck
