"""The engines: one pure file per CLI or API, and the supervisor that runs them all.

A new engine is one file with a class and ``ENGINE`` (called with an ``EngineConfig``): it says
what to start (``start``), reads what comes back (``reader``: mostly a ``LineReader`` with one
small method per event type), and tells ``probe`` how to find it. Nothing else has to be edited;
``[engines.NAME] use = "module:ENGINE"`` names one from outside. Recordings of its output go into
``tests/fixtures/transcripts/NAME`` and are replayed by ``tests/unit/test_transcripts.py``.
"""
