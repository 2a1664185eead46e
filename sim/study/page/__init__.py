"""The page of ``bitpath report``: one HTML file, which needs neither server nor network."""
