"""The trusted launcher: a process that loads cubins and runs declared launches. It imports nothing of warpwise.

No host code of a candidate exists in it. It is told what to do by `job.json` and leaves `result.json` and `outputs.bin`;
what is right, and what is faster, is decided elsewhere.
"""
