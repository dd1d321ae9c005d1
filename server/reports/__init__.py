"""Every answer that warpwise gives, as frozen data."""
