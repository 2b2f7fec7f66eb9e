"""A backend whose module raises when imported, as one does whose library is missing."""

raise OSError("libbroken.so.7: cannot open shared object file")
