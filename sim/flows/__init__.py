"""Whole flows: real tensors through the golden model and through the RTL in a simulator, compared bit for bit."""
