"""Embedders: text becomes vectors whose nearness is nearness of meaning. One file for each."""
