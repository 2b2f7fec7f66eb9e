"""A backend of a contract that this core does not speak."""


class FutureBackend:
    contract = 999
    device_type = "future"


backend = FutureBackend()
