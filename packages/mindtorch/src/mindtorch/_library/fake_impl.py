"""``torch._library.fake_impl``: what fake implementations may ask for."""

from mt_library.fake import FakeImplCtx as FakeImplCtx
