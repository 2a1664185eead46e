"""AWS Trainium3's tensor engine: the quad-MX processing element, its array, PSUM, and the engine around them."""
