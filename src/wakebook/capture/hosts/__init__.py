"""One module per host. Each says where its sessions are, and what a record means."""
