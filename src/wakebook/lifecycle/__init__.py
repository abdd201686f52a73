"""When things happen: watching, recovery and the account of every source."""
