"""The source layer: what the text of a kernel says, without building it."""
