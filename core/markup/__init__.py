"""Markdown to a tree, measuring, and splitting by a platform's limits. Pure.

Platform renderers stay in ``adapters``: they give a ``Dialect`` and call ``render``.
"""
