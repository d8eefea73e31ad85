"""What a fit minimizes and what it reports: losses, links and metrics."""
