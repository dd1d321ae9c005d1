"""`python -m warpwise.server` is `warpwise`."""

from warpwise.server.cli import main

if __name__ == "__main__":
    main()
