"""What every request passes: host and origin, the route's rule, the body's bounds; and how errors are told."""
