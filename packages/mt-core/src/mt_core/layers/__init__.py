"""Dispatch layers that every installation has."""
