"""The pages: one module a plate, each with its prose in ``plates/prose/<slug>.md``."""
