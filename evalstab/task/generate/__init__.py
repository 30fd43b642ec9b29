"""Makes ranking tasks of any size whose truth is known: facts first, then documents around them."""
