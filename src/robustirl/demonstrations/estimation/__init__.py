"""What demonstrations tell: occupancies with their error, chains, α."""
