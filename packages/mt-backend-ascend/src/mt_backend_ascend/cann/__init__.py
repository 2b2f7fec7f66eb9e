"""Huawei's CANN through ctypes: where its libraries are, what they export, what their errors mean."""
