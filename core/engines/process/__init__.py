"""The supervisor: the only place that starts a process or calls a model's HTTP API.

``run`` takes one task to one outcome and leaves nothing behind; ``end_leftover`` ends what an
earlier life of Moot left running; ``probe`` looks whether an engine could be used;
``Writers`` gives each session one writer. ``adopt_orphans`` is called once, by a process that
serves.
"""

from core.engines.process.environment import child_environment
from core.engines.process.orphans import adopt as adopt_orphans
from core.engines.process.probe import probe
from core.engines.process.run import end_leftover, run
from core.engines.process.writers import Busy, Writers

__all__ = ["Busy", "Writers", "adopt_orphans", "child_environment", "end_leftover", "probe", "run"]
