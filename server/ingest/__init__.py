"""What drivers report: verified, recorded once, answered after commit."""
