"""Sources: where a section's text comes from, pushed into a pack or brought by a Pull."""
