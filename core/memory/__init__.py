"""Memory: finding the right message again. Keywords for now; Chroma joins in a later issue."""
