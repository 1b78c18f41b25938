"""What is remembered: topics with their sources, and what finds messages by words and meaning."""

import os

# Before numpy is loaded for the first time. Its threads (OpenBLAS) wait for each other by spinning;
# beside busy processes, such as agents, a product of small matrices then takes ten times as long
# (measured; docs/decisions/0067). What is multiplied here is small. No agent is given it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
