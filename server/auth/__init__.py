"""Who may ask for what: tokens, the login link, and the rule of each route."""
