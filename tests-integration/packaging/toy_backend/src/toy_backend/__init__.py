"""The device type ``toy``."""
