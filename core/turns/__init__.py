"""A turn from its claim to its end: what is asked, in what order, and what is written of it."""
