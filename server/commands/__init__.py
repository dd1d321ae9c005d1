"""One module per command of `warpwise`, named after it; each has `register(app)`. Heavy imports wait for the call."""
