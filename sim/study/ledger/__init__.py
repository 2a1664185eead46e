"""The silicon ledger: public statements about real machines, each computed anew by golden."""
